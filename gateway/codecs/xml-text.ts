import { KeptBytes } from "../../services/kit/wire/kept-bytes.ts";
import { KeptMemory } from "../../services/kit/wire/kept-memory.ts";

/** Texts of other characters than these need a closer look. */
const plainText = /^[ !#-%'-;=?-~]*$/;

const special = /[&<>"\r\n\t]|[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  // A parser would normalize these to other white space.
  "\r": "&#13;",
  "\n": "&#10;",
  "\t": "&#9;",
};

/** Characters that XML cannot contain become U+FFFD; clients avoid that with `encoding-type=url`. */
export const escapeText = (text: string): string =>
  plainText.test(text) ? text : text.replace(special, (each) => escapes[each] ?? "\uFFFD");

/** The escapes of the characters of ASCII, as UTF-8. Undefined: there is none. */
const asciiEscapes = Array.from({ length: 0x80 }, (_none, code) => {
  const character = String.fromCharCode(code);
  const escaped = escapeText(character);
  return escaped === character ? undefined : Buffer.from(escaped);
});

/** The most bytes that one byte of ASCII becomes. */
const escapeBytesMax = Math.max(...asciiEscapes.map((escaped) => escaped?.length ?? 1));

const memory = new KeptMemory();
const firstBytes = 64 * 1024;

/** A part of a document, as bytes. */
export class XmlBytes extends KeptBytes {
  constructor() {
    super(memory, firstBytes);
  }

  /** Adds a text of ASCII, which is a part of other bytes, escaped. */
  addEscaped(from: Uint8Array, start: number, end: number): void {
    this.reserve((end - start) * escapeBytesMax);
    const { bytes } = this;
    let { at } = this;
    for (let index = start; index < end; index += 1) {
      const byte = from[index]!;
      const escaped = asciiEscapes[byte];
      if (escaped === undefined) bytes[at++] = byte;
      else for (let next = 0; next < escaped.length; next += 1) bytes[at++] = escaped[next]!;
    }
    this.at = at;
  }
}
