import { createHash } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The characters of the random part of ids. */
export const idAlphabet = alphabet;
const idLength = 17;

/** The id of a principal that has none of its own, such as a declared user: `AIDA…` of users, `AROA…` of roles. */
export const derivedPrincipalId = (prefix: "AIDA" | "AROA" | "ANPA", arn: string): string =>
  prefix +
  [...createHash("sha256").update(arn).digest().subarray(0, idLength)].map((byte) => alphabet[byte & 31]).join("");
