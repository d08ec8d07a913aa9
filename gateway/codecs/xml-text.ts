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

/** A part of a document, as bytes. They must be copied, and then released, before anything is waited for. */
export class XmlBytes {
  #bytes: Buffer = memory.take(firstBytes);
  #at = 0;

  /** How many there are; `cutAt` removes what follows so many. */
  get length(): number {
    return this.#at;
  }

  cutAt(length: number): void {
    this.#at = length;
  }

  /** Adds bytes as they are. */
  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    const into = this.#bytes;
    const { length } = bytes;
    let at = this.#at;
    for (let index = 0; index < length; index += 1) into[at++] = bytes[index]!;
    this.#at = at;
  }

  /** Adds a part of a document. */
  addMarkup(markup: string): void {
    this.#reserve(markup.length * utf8BytesMax);
    if (markup.length > shortLength) this.#at += this.#bytes.write(markup, this.#at, "utf8");
    else this.#addShort(markup);
  }

  #addShort(markup: string): void {
    const bytes = this.#bytes;
    const { length } = markup;
    let at = this.#at;
    let all = 0;
    for (let index = 0; index < length; index += 1) {
      const code = markup.charCodeAt(index);
      all |= code;
      bytes[at++] = code;
    }
    this.#at = all < 0x80 ? at : this.#at + bytes.write(markup, this.#at, "utf8");
  }

  /** Adds a text of ASCII, which is a part of other bytes, escaped. */
  addText(from: Uint8Array, start: number, end: number): void {
    this.#reserve((end - start) * escapeBytesMax);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = start; index < end; index += 1) {
      const byte = from[index]!;
      const escaped = asciiEscapes[byte];
      if (escaped === undefined) bytes[at++] = byte;
      else for (let next = 0; next < escaped.length; next += 1) bytes[at++] = escaped[next]!;
    }
    this.#at = at;
  }

  /** A view of them, until they are released. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  /** They are no longer used. */
  release(): void {
    memory.giveBack(this.#bytes);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.#at + bytes));
    grown.set(this.written);
    this.#bytes = grown;
  }
}

/** Up to this length, a loop is cheaper than a call of the platform. */
const shortLength = 32;

/** Of a UTF-16 code unit. */
const utf8BytesMax = 3;
