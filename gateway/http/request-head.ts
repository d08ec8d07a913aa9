import type { IncomingHttpHeaders } from "node:http";

import type { QueryParameters } from "./query.ts";

/** A request's line and headers, before anything of it is verified. */
export interface RequestHead {
  readonly method: string;
  /** The request target up to its question mark, escapes untouched. */
  readonly rawPath: string;
  readonly query: QueryParameters;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}
