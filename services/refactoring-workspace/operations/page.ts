import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
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
  /** The id behind which it begins; undefined: the beginning. */
  readonly after: string | undefined;
  readonly itemsMax: number;
  /** The token of the page behind an id. */
  tokenOf(id: string): string;
}

/** Reads the page members of a request; `filters` are the parents that it names. Throws INVALID_PAGE_TOKEN. */
export const pageOf = (context: CallContext<Application>, filters: readonly string[], request: PageRequest): Page => {
  const { app, caller, method } = context;
  const binding = { caller: caller.accountId, operation: method.name, filters: [...filters] };
  const itemsMax = request.maxResults ?? limits.pageItemsDefault;
  const tokenOf = (id: string) => app.pageTokens.seal(binding, id);
  if (request.nextToken === undefined) return { after: undefined, itemsMax, tokenOf };
  const position = app.pageTokens.open(binding, request.nextToken);
  if (position === undefined) throw fault(ErrorReason.INVALID_PAGE_TOKEN, { member: "nextToken" });
  return { after: Buffer.from(position).toString("utf8"), itemsMax, tokenOf };
};

/**
 * The items of a page among what was found, which is one more than the page holds when there are more. A page also
 * ends when its records are too large together; it has at least one item then.
 */
export const cutPage = <S extends DescMessage>(
  page: Page,
  found: readonly MessageShape<S>[],
  schema: S,
  idOf: (record: MessageShape<S>) => string,
): { shown: MessageShape<S>[]; nextToken?: string } => {
  const shown: MessageShape<S>[] = [];
  let bytes = 0;
  for (const record of found.slice(0, page.itemsMax)) {
    bytes += toBinary(schema, record).length;
    if (bytes > limits.pageBytesMax && shown.length > 0) break;
    shown.push(record);
  }
  const last = shown.at(-1);
  return last !== undefined && found.length > shown.length ? { shown, nextToken: page.tokenOf(idOf(last)) } : { shown };
};
