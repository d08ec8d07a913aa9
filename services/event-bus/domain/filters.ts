import { ErrorReason, fault } from "../faults.ts";

/** Refuses a listing that gives more than one of filters which exclude each other. Throws SEVERAL_FILTERS. */
export const refuseSeveralFilters = (operation: string, filters: Readonly<Record<string, unknown>>): void => {
  const given = Object.values(filters).filter((value) => value !== undefined);
  if (given.length <= 1) return;
  throw fault(ErrorReason.SEVERAL_FILTERS, { operation, filters: Object.keys(filters).join(", ") });
};
