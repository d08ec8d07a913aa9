import { trimAllocator } from "../../../services/kit/process/allocator.ts";
import { collectGarbage } from "../../../services/kit/process/rest.ts";
import { eventually } from "../../support/eventually.ts";

/**
 * Leaves 60 MiB of free blocks between blocks in use, and sends the resident MiB of this process after the collection
 * and after the allocator was trimmed, with whether it was.
 */
const blockBytes = 60 * 1_024;
const blocks: (Buffer | undefined)[] = Array.from({ length: 1_024 }, () => Buffer.allocUnsafeSlow(blockBytes).fill(1));
const used = (): number => process.memoryUsage().arrayBuffers;
const full = used();
for (let index = 0; index < blocks.length; index += 1) if (index % 16 !== 0) blocks[index] = undefined;
collectGarbage();
await eventually(() => used() < full / 4, "the blocks are freed");
const resident = (): number => process.memoryUsage.rss() / 1_024 / 1_024;
const collected = resident();
// What is trimmed at rest keeps no process alive.
const alive = setInterval(() => {}, 1_000);
const isTrimmed = await trimAllocator();
clearInterval(alive);
process.send?.({ isTrimmed, collected, trimmed: resident(), kept: blocks.filter((block) => block?.[0] === 1).length });
