import { randomInt, randomUUID } from "node:crypto";

import { drawRandomBytes } from "./random-bytes.ts";

/** The source of identifiers. All are unpredictable. */
export interface Ids {
  /** A random UUID, lower case with hyphens. */
  uuid(): string;
  /** `length` characters of the alphabet, each equally likely; without one, of 0-9A-Za-z. */
  token(length: number, alphabet?: string): string;
  /** `length` lower-case hexadecimal digits. */
  hex(length: number): string;
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Identifiers from the machine's secure random source. */
export const randomIds: Ids = {
  uuid: () => randomUUID(),
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
