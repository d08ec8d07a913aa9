import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

import type { Authenticate } from "../identity/authenticate.ts";
import { UnauthenticatedError } from "../identity/unauthenticated-error.ts";
import type { Logger } from "../log/log.ts";
import { ProtocolError } from "../wire/protocol-error.ts";

/** What a page that only operators read says in JSON, by its query. Throws RangeError for a query that it refuses. */
export type OperatorPage = (query: URLSearchParams) => Promise<object>;

/** Pages by their paths. */
export type OperatorPages = Readonly<Record<string, OperatorPage>>;

type PageRequest = Pick<IncomingMessage | Http2ServerRequest, "method" | "url" | "headers">;
type PageResponse = ServerResponse | Http2ServerResponse;

/** A page and its query. */
interface AskedPage {
  readonly page: OperatorPage;
  readonly query: URLSearchParams;
}

/** The page that a request asks for; undefined: none. */
export const findOperatorPage = (
  pages: OperatorPages = {},
  { method, url = "" }: PageRequest,
): AskedPage | undefined => {
  const [path = "", query = ""] = url.split("?", 2);
  const page = method === "GET" && Object.hasOwn(pages, path) ? pages[path] : undefined;
  return page && { page, query: new URLSearchParams(query) };
};

/**
 * Answers with the page in JSON. Refuses in this order: without a token, or with one that is not valid, 401; with one
 * that is not of an account's root, 403; from an address that is shut out, 429; a query that the page refuses, 400. A
 * page that fails is 503, and logged.
 */
export const answerOperatorPage = async (
  { page, query }: AskedPage,
  authenticate: Authenticate,
  log: Logger,
  { headers }: PageRequest,
  response: PageResponse,
): Promise<void> => {
  try {
    const caller = await authenticate(headers.authorization);
    if (!caller.isRoot) return send(response, 403, { message: "The token is not of an account's root." });
    send(response, 200, await page(query));
  } catch (error) {
    if (error instanceof UnauthenticatedError) return send(response, 401, { message: "A valid token is needed." });
    if (error instanceof ProtocolError) return send(response, 429, { message: error.message });
    if (error instanceof RangeError) return send(response, 400, { message: error.message });
    log.error({ err: error }, "a page for operators failed");
    send(response, 503, { message: "The page cannot be read now." });
  }
};

const send = (response: PageResponse, status: number, body: object): void => {
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  if (status === 401) response.setHeader("www-authenticate", "Bearer");
  response.end(`${JSON.stringify(body)}\n`);
};
