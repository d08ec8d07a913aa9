import type { IncomingMessage, ServerResponse } from "node:http";

import { lingerOver } from "../../services/kit/server/linger.ts";
import { defaultServerLimits } from "../../services/kit/server/limits.ts";
import { drained } from "../../services/kit/wire/drained.ts";
import { giveBack } from "../../services/kit/wire/lent-memory.ts";
import type { IncomingBody } from "./incoming-body.ts";

/** The head of an answer; header names are lower case. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Bodies up to this size are cheaper to copy than to write separately from their head. */
const joinedBytesMax = 16 * 1024;

/** Whether an answer of this status never has a body. */
const isBodiless = (status: number): boolean => status === 204 || status === 304 || status < 200;

/**
 * Sends an answer whose body is known. Without a body its length is 0, except where HTTP forbids a length; an answer to
 * HEAD keeps the length in its headers.
 */
export const sendWhole = (response: ServerResponse, head: AnswerHead, body: Buffer | undefined): void => {
  const isHead = response.req.method === "HEAD";
  const isEmpty = isBodiless(head.status);
  const keepsLength = isHead && !isEmpty;
  // Node.js writes a list of names and values with less work than an object.
  const lines: (string | number)[] = [];
  for (const name in head.headers) if (name !== "content-length" || keepsLength) lines.push(name, head.headers[name]!);
  if (!isHead && !isEmpty) lines.push("content-length", body?.length ?? 0);
  response.writeHead(head.status, lines);
  if (body === undefined || isHead || isEmpty) response.end();
  // Node.js writes the head and a body that is a text in one piece.
  else if (body.length <= joinedBytesMax) response.end(body.toString("latin1"), "latin1");
  else response.end(body, () => giveBack(body));
};

/**
 * Sends an answer whose body arrives in pieces. While the network has not accepted one piece, only the next one is
 * read. Rejects with what the body threw; its status was sent already, so the connection can only be closed then.
 */
export const sendPieces = async (
  response: ServerResponse,
  head: AnswerHead,
  pieces: AsyncIterable<Uint8Array>,
  stallMs: number,
): Promise<void> => {
  response.writeHead(head.status, { ...head.headers });
  const hasNoBody = response.req.method === "HEAD" || isBodiless(head.status);
  for await (const piece of pieces) {
    if (piece.length === 0 || hasNoBody) {
      giveBack(piece);
      continue;
    }
    // Mostly a piece was accepted before the next one arrived, so nothing has to be waited for.
    if (response.writableLength > 0) await drainedInTime(response, stallMs);
    if (response.destroyed) return;
    response.write(piece, () => giveBack(piece));
  }
  response.end();
};

/**
 * Lets the connection of a request that was answered before its end be used again: the rest of the body is read for a
 * while and dropped. If the client still waits for `100 Continue`, the connection is closed after the answer instead.
 */
export const settleUnread = (request: IncomingMessage, response: ServerResponse, body: IncomingBody): void => {
  if (body.isAwaited()) response.shouldKeepAlive = false;
  else if (!request.complete) response.once("finish", () => lingerOver(request, defaultServerLimits));
  else if (body.isBegun() && !request.readableEnded) {
    request.removeAllListeners("data");
    request.resume();
  }
};

/** Resolves when the network has accepted what was written, or is gone. A client that reads nothing is cut off. */
const drainedInTime = async (response: ServerResponse, stallMs: number): Promise<void> => {
  const stall = setTimeout(() => response.destroy(), stallMs);
  await drained(response);
  clearTimeout(stall);
};
