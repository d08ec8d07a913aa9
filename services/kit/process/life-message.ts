import * as z from "zod";

/**
 * The messages of a process to its launcher: once a second that it is opening its data, then once that it is ready and
 * where it listens, by purpose, and once that it drains. A start that fails for a known reason says it in a sentence.
 */
export type LifeMessage = z.output<typeof lifeMessage>;

const lifeMessage = z.union([
  z.object({ opening: z.literal(true) }),
  z.object({ ready: z.literal(true), urls: z.record(z.string(), z.string()) }),
  z.object({ draining: z.literal(true) }),
  z.object({ failed: z.string() }),
]);

/** What a process has sent as a message of its life; undefined: it is none, as one of a library that it loads. */
export const asLifeMessage = (sent: unknown): LifeMessage | undefined => lifeMessage.safeParse(sent).data;
