import type { IncomingMessage } from "node:http";

import { isHost } from "../../kit/network/host-form.ts";
import { RefusedError, refusals } from "./refusal.ts";

/** The scheme and authority of a target in absolute form. */
const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/**
 * Refuses the head of a request that others could read in another way, or that the proxy cannot pass on as it is meant
 * (RFC 9112 sections 3.2 and 6.1). Throws RefusedError.
 */
export const checkHead = (request: IncomingMessage): void => {
  const { method, httpVersionMajor, httpVersionMinor, headers } = request;
  if (httpVersionMajor !== 1) throw new RefusedError(refusals.version);
  if (method === "TRACE" || method === "CONNECT") throw new RefusedError(refusals.method);
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) throw new RefusedError(refusals.hosts);
  if (!isHost(hostOf(request))) throw new RefusedError(refusals.host);
  const codings = headers["transfer-encoding"];
  if (codings !== undefined && httpVersionMinor === 0) throw new RefusedError(refusals.codingOfOld);
  // The platform removes the last coding, which is chunked, and would lose the name of any other.
  if (codings !== undefined && codings.trim().toLowerCase() !== "chunked") throw new RefusedError(refusals.coding);
  const expectation = headers.expect?.trim().toLowerCase() ?? "";
  if (expectation !== "" && expectation !== "100-continue") throw new RefusedError(refusals.expectation);
};

/** The host of a request, with its port: that of its target where it has one, else its Host field. */
export const hostOf = ({ url = "", headers }: Pick<IncomingMessage, "url" | "headers">): string =>
  absoluteForm.exec(url)?.[1] ?? headers.host ?? "";

const countHosts = (rawHeaders: readonly string[]): number => {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count;
};
