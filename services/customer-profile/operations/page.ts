import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { PageBinding } from "../../kit/page-tokens/page-tokens.ts";
import type { Application } from "../application.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";

/** The page members of a listing's request. */
export interface PageRequest {
  readonly nextToken?: string;
  readonly maxResults?: number;
}

/** The page that a request asks for. */
export interface Page {
  /** The position behind which it begins; undefined: the beginning. */
  readonly after: string | undefined;
  readonly itemsMax: number;
  /** The token of the page behind a position. */
  tokenOf(position: string): string;
}

/** Reads the page members of a request. Throws INVALID_PAGE_TOKEN for a token of another caller or listing. */
export const pageOf = (app: Application, binding: PageBinding, request: PageRequest): Page => {
  const itemsMax = request.maxResults ?? limits.pageItemsDefault;
  const tokenOf = (position: string) => app.pageTokens.seal(binding, position);
  if (request.nextToken === undefined) return { after: undefined, itemsMax, tokenOf };
  const position = app.pageTokens.open(binding, request.nextToken);
  if (position === undefined) throw fault(ErrorReason.INVALID_PAGE_TOKEN, { member: "NextToken" });
  return { after: Buffer.from(position).toString("utf8"), itemsMax, tokenOf };
};

/** How a listing turns what it found into items. */
export interface PageItems<Found, Item> {
  /** Where the item stands in the order of the listing. */
  positionOf(found: Found): string;
  itemOf(found: Found): Item;
}

/** The answer of a listing that looked for one more than the page holds: a token stands in it when there are more. */
export const pageAnswer = <Found, Item>(
  page: Page,
  found: readonly Found[],
  { positionOf, itemOf }: PageItems<Found, Item>,
): { items: Item[]; nextToken?: string } => {
  const shown = found.slice(0, page.itemsMax);
  const last = shown.at(-1);
  return {
    items: shown.map(itemOf),
    ...(last !== undefined && found.length > shown.length ? { nextToken: page.tokenOf(positionOf(last)) } : {}),
  };
};
