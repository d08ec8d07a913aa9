import { randomBytes, randomFillSync, randomInt, randomUUID } from "node:crypto";

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
  hex: (length) => {
    const bytes = Math.ceil(length / 2);
    if (bytes > pool.length) return randomBytes(bytes).toString("hex").slice(0, length);
    if (used + bytes > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const text = pool.toString("hex", used, used + bytes);
    // What was handed out is not kept.
    pool.fill(0, used, used + bytes);
    used += bytes;
    return text.slice(0, length);
  },
};

/** Random bytes that were drawn ahead, because a system call for each id costs more than the rest of it. */
const pool = Buffer.alloc(4 * 1024);
let used = pool.length;
