import { createHmac, timingSafeEqual } from "node:crypto";

/** A code is good for 30 seconds, and in those before and after them. */
const stepMs = 30_000;
const digits = 6;

/**
 * The number of the step of a code by RFC 6238 with SHA-1: the current one, or the one before or after it, because
 * clocks differ. Undefined for a wrong code. The time that it takes does not depend on the code.
 */
export const findCodeStep = (secret: Uint8Array, code: string, nowMs: number): number | undefined => {
  const given = Buffer.from(code);
  if (given.length !== digits) return undefined;
  const now = Math.floor(nowMs / stepMs);
  let found: number | undefined;
  for (const step of [now + 1, now, now - 1]) if (timingSafeEqual(given, codeOf(secret, step))) found = step;
  return found;
};

const codeOf = (secret: Uint8Array, step: number): Buffer => {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac("sha1", secret).update(counter).digest();
  const truncated = digest.readUInt32BE((digest.at(-1) ?? 0) & 0xf) & 0x7fff_ffff;
  return Buffer.from(String(truncated % 10 ** digits).padStart(digits, "0"));
};
