import { Code, ConnectError } from "@connectrpc/connect";

import type { Frame } from "../wire/frame-parser.ts";
import { endStreamFlag } from "../wire/frame-parser.ts";
import type { FrameQueue } from "../wire/frame-queue.ts";
import { protocolFailure, streamEnd } from "./connect-answer.ts";

/**
 * The messages of a streamed answer in the Connect protocol, read from the network on demand. A trailer is passed on
 * before the end. No compression is asked for, so none is accepted. `onOver` runs when nothing more is read, and is
 * told whether the answer has ended.
 */
export async function* readMessages<T>(
  queue: FrameQueue,
  decode: (frame: Frame) => T,
  onTrailer: (metadata: Headers) => void,
  onOver: (isEnded: boolean) => void,
): AsyncGenerator<T> {
  let isEnded = false;
  try {
    for (;;) {
      const frame = await queue.next();
      if (frame === undefined) throw new ConnectError("the answer ended without its end", Code.Internal);
      if (frame.flags === 0) yield decode(frame);
      else if (frame.flags !== endStreamFlag) throw unknownFlags(frame.flags);
      else {
        if (!queue.isEmpty) throw goesOn();
        isEnded = true;
        const end = streamEnd(frame.body);
        if (end.metadata !== undefined) onTrailer(end.metadata);
        if (end.error !== undefined) throw end.error;
        return;
      }
    }
  } catch (error) {
    throw protocolFailure(error);
  } finally {
    onOver(isEnded);
  }
}

/** The error of an answer with a frame that is neither a message nor its end. */
export const unknownFlags = (flags: number): ConnectError =>
  new ConnectError(`a frame of the answer has unknown flags ${flags}`, Code.Internal);

/** The error of an answer with anything after its end. */
export const goesOn = (): ConnectError => new ConnectError("the answer goes on after its end", Code.Internal);
