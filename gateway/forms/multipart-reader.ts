import { ErrorReason, refusal } from "../refusal.ts";

/** One part of a form; its content must be read before the next part. */
export interface FormPart {
  /** Lower case. */
  readonly name: string;
  /** Undefined for a part that is not a file. */
  readonly fileName: string | undefined;
  /** Bytes before the content: the end of the boundary's line, and the head of the part. */
  readonly headBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The most bytes of the head of a part. */
const partHeadBytesMax = 8 * 1024;

/**
 * Reads the parts of a `multipart/form-data` body one after the other, in a single pass as the pieces arrive.
 *
 *     body = "--" boundary CRLF part *( CRLF "--" boundary CRLF part ) CRLF "--" boundary "--"
 *     part = head CRLF CRLF content
 *
 * Bytes before the first boundary and after the last are ignored. Throws MALFORMED_FORM for any other body.
 */
export const readFormParts = async function* (
  source: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<FormPart> {
  const pieces = source[Symbol.asyncIterator]();
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first boundary has no line end before it; with one prepended it is like the others.
  let held: Buffer = Buffer.from("\r\n");

  const fill = async (): Promise<void> => {
    const next = await pieces.next();
    if (next.done === true) throw refusal(ErrorReason.MALFORMED_FORM);
    held = Buffer.concat([held, next.value]);
  };
  const takeUntil = async (end: Buffer, bytesMax: number): Promise<Buffer> => {
    for (;;) {
      const at = held.indexOf(end);
      if (at > bytesMax || (at === -1 && held.length > bytesMax)) throw refusal(ErrorReason.MALFORMED_FORM);
      if (at !== -1) {
        const taken = held.subarray(0, at);
        held = held.subarray(at + end.length);
        return taken;
      }
      await fill();
    }
  };
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const at = held.indexOf(delimiter);
      // The end of the held bytes may be the beginning of a delimiter.
      const safe = at === -1 ? Math.max(0, held.length - delimiter.length + 1) : at;
      const taken = held.subarray(0, safe);
      held = held.subarray(safe);
      if (taken.length > 0) yield taken;
      if (at !== -1) return;
      await fill();
    }
  };

  try {
    await takeUntil(delimiter, partHeadBytesMax);
    for (;;) {
      while (held.length < 2) await fill();
      if (held.subarray(0, 2).toString("latin1") === "--") return;
      const padding = await takeUntil(lineEnd, partHeadBytesMax);
      const head = await takeUntil(headEnd, partHeadBytesMax);
      const headBytes = padding.length + lineEnd.length + head.length + headEnd.length;
      yield { ...readDisposition(head.toString("utf8")), headBytes, content: content() };
      await takeUntil(delimiter, partHeadBytesMax);
    }
  } finally {
    await pieces.return?.();
  }
};

/** The boundary in a content type; undefined if it is not of a form with files. */
export const boundaryOf = (contentType: string | undefined): string | undefined => {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(
    contentType ?? "",
  );
  return match?.[1] ?? match?.[2];
};

const lineEnd = Buffer.from("\r\n");
const headEnd = Buffer.from("\r\n\r\n");

const readDisposition = (head: string): { name: string; fileName: string | undefined } => {
  const disposition = /^content-disposition:[ \t]*form-data([^\r\n]*)$/im.exec(head)?.[1] ?? "";
  const parameters = readParameters(disposition);
  const name = parameters.get("name");
  if (name === undefined) throw refusal(ErrorReason.MALFORMED_FORM);
  return { name: name.toLowerCase(), fileName: parameters.get("filename") };
};

/** The parameters of a header one after the other, so that a quoted value is never searched for another parameter. */
const readParameters = (text: string): ReadonlyMap<string, string> => {
  const parameters = new Map<string, string>();
  const parameter = /[ \t]*;[ \t]*([^\s=;"]+)=(?:"([^"]*)"|([^\s;"]*))/y;
  for (let match = parameter.exec(text); match !== null; match = parameter.exec(text)) {
    const [, name = "", quoted, plain = ""] = match;
    parameters.set(name.toLowerCase(), quoted === undefined ? plain : unescapeQuoted(quoted));
  }
  return parameters;
};

/** Browsers escape the characters that would end a quoted value or its line, and no others. */
const unescapeQuoted = (text: string): string =>
  text.replaceAll(/%22|%0D|%0A/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
