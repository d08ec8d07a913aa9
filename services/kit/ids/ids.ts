import { randomInt, randomUUID } from "node:crypto";

import { drawRandomBytes } from "./random-bytes.ts";

/** The source of identifiers. All are unpredictable. */
export interface Ids {
  /** A random UUID, lower case with hyphens. */
  uuid(): string;
  /**
   * A UUID that begins with an instant, in milliseconds since 1970 (version 7), and is random otherwise. Records with
   * such keys are next to those that were made at the same time, where random ones are spread over the whole database.
   */
  uuidAt(ms: number): string;
  /** `length` characters of the alphabet, each equally likely; without one, of 0-9A-Za-z. */
  token(length: number, alphabet?: string): string;
  /** `length` lower-case hexadecimal digits. */
  hex(length: number): string;
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Identifiers from the machine's secure random source. */
export const randomIds: Ids = {
  uuid: () => randomUUID(),
  uuidAt: (ms) => {
    const time = Math.floor(ms).toString(16).padStart(12, "0");
    // Two of its bits say the variant, the first four digits after the time the version.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
  },
  token: (length, alphabet = alphanumeric) => {
    let text = "";
    while (text.length < length) text += alphabet[randomInt(alphabet.length)];
    return text;
  },
  hex: (length) =>
    drawRandomBytes(Math.ceil(length / 2))
      .toString("hex")
      .slice(0, length),
};
