import type { ServerResponse } from "node:http";

/** An answer whose status was sent before its document is known. */
export interface EarlyAnswer {
  /** Sends the document and ends the answer. */
  finish(document: Buffer | undefined): void;
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * Waits one interval for the outcome; undefined if it has settled. Otherwise sends status 200 and the XML declaration,
 * then white space at the same interval, so that no proxy closes the connection as idle.
 */
export const beginEarly = async (
  response: ServerResponse,
  outcome: Promise<unknown>,
  intervalMs: number,
  headers: Readonly<Record<string, string>>,
): Promise<EarlyAnswer | undefined> => {
  const isSettled = await settlesWithin(outcome, intervalMs);
  if (isSettled) return undefined;
  response.writeHead(200, { "content-type": "application/xml", ...headers });
  response.write(declaration);
  const beat = setInterval(() => response.write(" "), intervalMs);
  beat.unref();
  response.once("close", () => clearInterval(beat));
  return {
    finish: (document) => {
      clearInterval(beat);
      response.end(document === undefined ? undefined : withoutDeclaration(document));
    },
  };
};

const settlesWithin = (outcome: Promise<unknown>, ms: number): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const settled = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    outcome.then(settled, settled);
  });

const withoutDeclaration = (document: Buffer): Buffer => {
  const text = declaration.length;
  return document.subarray(0, text).toString("latin1") === declaration ? document.subarray(text) : document;
};
