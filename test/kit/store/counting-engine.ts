import type { Engine } from "../../../services/kit/store/engine.ts";
import { memoryEngine } from "./memory-engine.ts";

/** An engine that counts what its scans visit. */
interface CountingEngine {
  readonly engine: Engine;
  /** The keys that were looked up. */
  readonly lookedUp: () => number;
  /** The records which its scans have returned. */
  readonly scanned: () => number;
  /** The deleted keys before the first record of each scan, which a database has to visit as well. */
  readonly passedOver: () => number;
  /** The records that the largest write changed. */
  readonly largestWrite: () => number;
}

export const countingEngine = (): CountingEngine => {
  const engine = memoryEngine();
  const deleted = new Set<string>();
  let lookedUp = 0;
  let scanned = 0;
  let passedOver = 0;
  let largest = 0;
  return {
    lookedUp: () => lookedUp,
    scanned: () => scanned,
    passedOver: () => passedOver,
    largestWrite: () => largest,
    engine: {
      ...engine,
      write: async (changes) => {
        await engine.write(changes);
        largest = Math.max(largest, changes.size);
        for (const [key, payload] of changes) if (payload === undefined) deleted.add(key);
      },
      snapshot: () => {
        const snapshot = engine.snapshot();
        return {
          ...snapshot,
          get(key) {
            lookedUp += 1;
            return snapshot.get(key);
          },
          async *scan(...range) {
            const [{ low, high }] = range;
            let first = high;
            for await (const page of snapshot.scan(...range)) {
              first = page[0]?.key ?? high;
              break;
            }
            for (const key of deleted) if (key >= low && key < first) passedOver += 1;
            for await (const page of snapshot.scan(...range)) {
              scanned += page.length;
              yield page;
            }
          },
        };
      },
    },
  };
};
