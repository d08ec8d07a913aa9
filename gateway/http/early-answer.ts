import type { ServerResponse } from "node:http";

/** An answer whose status is out while its document is still being made. */
export interface EarlyAnswer {
  /** Sends the document and ends the answer. */
  finish(document: Buffer | undefined): void;
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * Waits a while for the outcome. When it takes longer, status 200 and the XML declaration go out and white space follows
 * at the same interval, so that nothing on the way takes the connection for dead; undefined: the outcome is there.
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
