import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";

/** So long after a collection V8 has freed the buffers that were garbage, in milliseconds: it does so in threads. */
const freeingMs = 1_000;

type Trim = (pad: number) => number;
let known: Trim | undefined;

/** glibc's function, defined once: each definition keeps 10 KiB for good. Throws where there is none. */
const findTrim = (): Trim => {
  if (known === undefined) {
    const koffi = createRequire(`${import.meta.dirname}/`)("koffi") as typeof import("koffi");
    known = koffi.load(null).func("int malloc_trim(size_t pad)") as Trim;
  }
  return known;
};

/**
 * Gives the system back what the allocator of the C library (glibc) holds and nobody uses, a second after this call. By
 * itself glibc returns only the end of its memory, so what a burst left between blocks in use stays for good
 * (services/decisions/0152). It takes up to 15 ms. Resolves with whether it was done: elsewhere, and where the optional
 * package is not installed, nothing is.
 */
export const trimAllocator = async (): Promise<boolean> => {
  await delay(freeingMs, undefined, { ref: false });
  try {
    findTrim()(0);
    return true;
  } catch {
    return false;
  }
};
