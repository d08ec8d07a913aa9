import { join } from "node:path";

import type { BenchGroup } from "../bench.ts";

/** A process that measures one group of a clone of the repository and sends its rows to its parent. */
const [directory = "", file = ""] = process.argv.slice(2);
const { group } = (await import(join(directory, "test/bench", file))) as { group: BenchGroup };
process.send?.(await group.run(), () => process.exit(0));
