import { ErrorReason, fault } from "../faults.ts";

/** `a, b, or c`. */
const choice = new Intl.ListFormat("en-US", { type: "disjunction" });

/** Throws SEVERAL_FILTERS if a listing has more than one of the filters that exclude each other. */
export const refuseSeveralFilters = (operation: string, filters: Readonly<Record<string, unknown>>): void => {
  const given = Object.values(filters).filter((value) => value !== undefined);
  if (given.length <= 1) return;
  throw fault(ErrorReason.SEVERAL_FILTERS, { operation, filters: choice.format(Object.keys(filters)) });
};
