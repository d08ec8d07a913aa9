import type { IncomingMessage } from "node:http";
import { METHODS } from "node:http";

import { hasOtherCoding, isHost } from "../../kit/network/request-form.ts";
import { RefusedError, refusals } from "./refusal.ts";
import { splitAbsolute } from "./request-path.ts";

/**
 * Refuses the head of a request that others could read in another way, or that the proxy cannot pass on as it is meant
 * (RFC 9112 sections 3.2 and 6.1). Throws RefusedError.
 */
export const checkHead = (request: IncomingMessage): void => {
  const { method, httpVersionMajor, httpVersionMinor, headers } = request;
  if (httpVersionMajor !== 1) throw new RefusedError(refusals.version);
  if (unservedMethods.has(method)) throw new RefusedError(refusals.method);
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) throw new RefusedError(refusals.hosts);
  if (!isHost(hostOf(request))) throw new RefusedError(refusals.host);
  const codings = headers["transfer-encoding"];
  if (codings !== undefined && httpVersionMinor === 0) throw new RefusedError(refusals.codingOfOld);
  if (hasOtherCoding(codings)) throw new RefusedError(refusals.coding);
  const expectation = headers.expect?.trim().toLowerCase() ?? "";
  if (expectation !== "" && expectation !== "100-continue") throw new RefusedError(refusals.expectation);
};

const unservedMethods: ReadonlySet<string | undefined> = new Set(["CONNECT", "TRACE"]);

/** Whether requests with a method reach the routes. */
export const servesMethod = (method: string): boolean => METHODS.includes(method) && !unservedMethods.has(method);

/** The host of a request, with its port: that of its target where it has one, else its Host field. */
export const hostOf = ({ url = "", headers }: Pick<IncomingMessage, "url" | "headers">): string =>
  splitAbsolute(url)?.host ?? headers.host ?? "";

const countHosts = (rawHeaders: readonly string[]): number => {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count;
};
