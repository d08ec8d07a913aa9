import { Code, ConnectError } from "@connectrpc/connect";

import type { Frame } from "../wire/frame-parser.ts";
import { compressedFlag, endStreamFlag } from "../wire/frame-parser.ts";
import type { FrameQueue } from "../wire/frame-queue.ts";
import { decompress } from "../wire/gzip.ts";
import { protocolFailure, streamEnd } from "./connect-answer.ts";

/**
 * The messages of a streamed answer in the Connect protocol, read from the network on demand. A trailer is passed on
 * before the end. `onOver` runs when nothing more is read, and is told whether the answer has ended.
 */
export async function* readMessages<T>(
  queue: FrameQueue,
  limitBytes: number,
  decode: (frame: Frame) => T,
  onTrailer: (metadata: Headers) => void,
  onOver: (isEnded: boolean) => void,
): AsyncGenerator<T> {
  let isEnded = false;
  try {
    for (;;) {
      const frame = await queue.next();
      if (frame === undefined) throw new ConnectError("the answer ended without its end", Code.Internal);
      const isCompressed = (frame.flags & compressedFlag) !== 0;
      const body = isCompressed ? await decompress(frame.body, limitBytes) : frame.body;
      if ((frame.flags & endStreamFlag) === 0) yield decode(isCompressed ? { flags: 0, body } : frame);
      else {
        isEnded = true;
        const end = streamEnd(body);
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
