import { ErrorReason, refusal } from "../refusal.ts";

/** One part of a form; its content is read before the next part is asked for. */
export interface FormPart {
  readonly name: string;
  /** The name of the file, for a part that is one. */
  readonly fileName: string | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The most that the head of one part may have, in bytes. */
const partHeadBytesMax = 8 * 1024;

/**
 * Reads the parts of a `multipart/form-data` body one after the other, as they arrive.
 *
 *     body = "--" boundary CRLF part *( CRLF "--" boundary CRLF part ) CRLF "--" boundary "--"
 *     part = head CRLF CRLF content
 *
 * Throws GatewayRefusal (`malformed-form`) for a body that is not built so.
 */
export const readFormParts = async function* (
  source: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<FormPart> {
  const pieces = source[Symbol.asyncIterator]();
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first boundary has no line end before it; with one put in front it is like the others.
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
      // The end of what is held may be the beginning of a delimiter.
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
      await takeUntil(lineEnd, partHeadBytesMax);
      const head = await takeUntil(headEnd, partHeadBytesMax);
      yield { ...readDisposition(head.toString("utf8")), content: content() };
      await takeUntil(delimiter, partHeadBytesMax);
    }
  } finally {
    await pieces.return?.();
  }
};

/** The boundary that a content type names; undefined: it is no form with files. */
export const boundaryOf = (contentType: string | undefined): string | undefined => {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(
    contentType ?? "",
  );
  return match?.[1] ?? match?.[2];
};

const lineEnd = Buffer.from("\r\n");
const headEnd = Buffer.from("\r\n\r\n");

const readDisposition = (head: string): { name: string; fileName: string | undefined } => {
  const disposition = /^content-disposition:\s*form-data\s*;(.*)$/im.exec(head)?.[1] ?? "";
  const parameter = (name: string): string | undefined => {
    const match = new RegExp(`(?:^|;)\\s*${name}="([^"]*)"|(?:^|;)\\s*${name}=([^\\s;"]+)`, "i").exec(disposition);
    return match?.[1] ?? match?.[2];
  };
  const name = parameter("name");
  if (name === undefined) throw refusal(ErrorReason.MALFORMED_FORM);
  return { name: name.toLowerCase(), fileName: parameter("filename") };
};
