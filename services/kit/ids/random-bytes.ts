import { randomBytes, randomFillSync } from "node:crypto";

/** Random bytes that were drawn ahead, because a call of the system's source costs more than what they are for. */
const pool = Buffer.alloc(4 * 1024);
let used = pool.length;

/** As many bytes from the machine's secure random source. The pool keeps no byte that was returned. */
export const drawRandomBytes = (count: number): Buffer => {
  if (count > pool.length) return randomBytes(count);
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + count));
  pool.fill(0, used, used + count);
  used += count;
  return bytes;
};
