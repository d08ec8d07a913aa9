import type { Engine } from "../../../services/kit/store/engine.ts";
import { memoryEngine } from "./memory-engine.ts";

/** An engine that counts the records which its scans have returned. */
export const countingEngine = (): { readonly engine: Engine; readonly scanned: () => number } => {
  const engine = memoryEngine();
  let scanned = 0;
  return {
    scanned: () => scanned,
    engine: {
      ...engine,
      snapshot: () => {
        const snapshot = engine.snapshot();
        return {
          ...snapshot,
          async *scan(...range) {
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
