import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { ErrorReason, fault } from "../faults.ts";

/** The page members of a listing's request. */
export interface PageRequest {
  readonly nextToken?: string | undefined;
  readonly limit?: number | undefined;
}

/** The page that a request asks for. */
export interface Page {
  /** The position behind which it begins; undefined: the beginning. */
  readonly after: string | undefined;
  readonly itemsMax: number;
  /** One more than the page holds, so that it is known whether there is another. */
  readonly lookFor: number;
  /** The token of the page behind a position. */
  tokenOf(position: string): string;
}

/**
 * Reads the page members of a request. `filters` are all other members that decide what is listed, in a fixed order.
 * Throws INVALID_PAGE_TOKEN for a token of another caller or listing, or one that is too old.
 */
export const pageOf = (
  context: CallContext<Application>,
  request: PageRequest,
  filters: readonly (string | undefined)[],
): Page => {
  const { app, caller, method } = context;
  const binding = { caller: caller.accountId, operation: method.name, filters: filters.map((each) => each ?? "") };
  const itemsMax = request.limit ?? app.limits.pageItemsMax;
  const tokenOf = (position: string): string => app.pageTokens.seal(binding, position);
  const page = { itemsMax, lookFor: itemsMax + 1, tokenOf };
  if (request.nextToken === undefined) return { ...page, after: undefined };
  const position = app.pageTokens.open(binding, request.nextToken);
  if (position === undefined) throw fault(ErrorReason.INVALID_PAGE_TOKEN, { member: "NextToken" });
  return { ...page, after: Buffer.from(position).toString("utf8") };
};

/** Cuts what was found to the page; a token stands beside it when there is more. */
export const cutPage = <Found>(
  page: Page,
  found: readonly Found[],
  positionOf: (found: Found) => string,
): { readonly items: Found[]; readonly nextToken?: string } => {
  const items = found.slice(0, page.itemsMax);
  const last = items.at(-1);
  return last !== undefined && found.length > items.length
    ? { items, nextToken: page.tokenOf(positionOf(last)) }
    : { items };
};
