import { ErrorReason } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Application } from "./application.ts";
import { fault } from "./faults.ts";

/** The listing that a continuation token belongs to. */
export interface ListingBinding {
  readonly caller: string;
  readonly operation: string;
  readonly filters: string[];
}

/** Where a listing goes on; undefined without a token. Throws INVALID_PAGE_TOKEN for a token of anything else. */
export const openContinuation = (
  app: Application,
  binding: ListingBinding,
  token: string | undefined,
): string | undefined => {
  if (token === undefined) return undefined;
  const position = app.pageTokens.open(binding, token);
  if (position === undefined) throw fault(ErrorReason.INVALID_PAGE_TOKEN, { member: "ContinuationToken" });
  return Buffer.from(position).toString();
};
