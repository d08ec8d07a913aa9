import type { Frame } from "./frame-parser.ts";
import { FrameParser } from "./frame-parser.ts";
import { giveBack, hold, isLent, lend, lendToFree } from "./lent-memory.ts";
import { countPassingBytes } from "./passing-bytes.ts";
import type { PayloadFinder } from "./payload.ts";
import { malformed } from "./protocol-error.ts";

/** Stops and restarts the source of a queue. */
export interface Flow {
  pause(): void;
  resume(): void;
}

interface WaitingReader {
  resolve(frame: Frame | undefined): void;
  reject(error: unknown): void;
}

/**
 * Frames between a source that pushes bytes and a reader that pulls frames. The source is paused when a chunk arrives
 * while frames of an earlier one wait, so at most the frames of two chunks are held. A reader that keeps up never stops
 * it: stopping and restarting costs the system calls of a small chunk.
 */
export class FrameQueue {
  readonly #parser: FrameParser;
  readonly #flow: Flow;
  readonly #frames: Frame[] = [];
  #ended = false;
  #error: unknown;
  #waiting: WaitingReader | undefined;
  /** At first too: who makes the queue may have stopped the source. */
  #isPaused = true;

  /** With a finder, payloads are passed on in pieces as they arrive. */
  constructor(limitBytes: number, flow: Flow, findPayload?: PayloadFinder) {
    this.#parser = new FrameParser(limitBytes, findPayload);
    this.#flow = flow;
  }

  /** Whether no frame waits, nor the beginning of one. */
  get isEmpty(): boolean {
    return this.#frames.length === 0 && !this.#parser.isWithinFrame;
  }

  /** The next frame; undefined after the last. One call at a time. */
  next(): Promise<Frame | undefined> {
    const frame = this.#frames.shift();
    if (frame !== undefined) {
      if (this.#frames.length === 0) this.#resume();
      return Promise.resolve(frame);
    }
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(undefined);
    const answer = new Promise<Frame | undefined>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    this.#resume();
    return answer;
  }

  /** Adds a chunk from the source. */
  push(chunk: Buffer): void {
    countPassingBytes(chunk.length);
    this.#take(chunk);
  }

  /**
   * Adds a chunk whose memory is to be returned. The payloads in it are lent, so their readers should give them back;
   * all other bytes of its frames are copied.
   */
  pushLent(chunk: Buffer, whenReturned: () => void): void {
    lend(chunk, whenReturned);
    this.#take(chunk);
    giveBack(chunk);
  }

  /** The same for a chunk whose memory is freed, if it is all its own. */
  pushToFree(chunk: Buffer): void {
    lendToFree(chunk);
    if (!isLent(chunk)) countPassingBytes(chunk.length);
    this.#take(chunk);
    giveBack(chunk);
  }

  #take(chunk: Buffer): void {
    if (this.#ended || this.#error !== undefined) return;
    const isBehind = this.#frames.length > 0;
    const frames: Frame[] = [];
    try {
      this.#parser.push(chunk, frames);
    } catch (error) {
      this.fail(error);
      return;
    }
    for (const frame of frames) this.#frames.push(isLent(chunk) ? heldFrame(frame, chunk) : frame);
    const waiting = this.#waiting;
    if (waiting !== undefined && this.#frames.length > 0) {
      this.#waiting = undefined;
      waiting.resolve(this.#frames.shift());
    }
    if (isBehind) {
      this.#isPaused = true;
      this.#flow.pause();
    }
  }

  #resume(): void {
    if (!this.#isPaused || this.#ended) return;
    this.#isPaused = false;
    this.#flow.resume();
  }

  /** The source has ended. */
  end(): void {
    if (this.#ended) return;
    if (this.#parser.isWithinFrame) {
      this.fail(malformed("The stream ends within a message."));
      return;
    }
    this.#ended = true;
    this.#settle((waiting) => waiting.resolve(undefined));
  }

  /** The source failed, or its rest is not needed. Waiting frames are dropped. */
  fail(error: unknown): void {
    if (this.#error !== undefined || (this.#ended && this.#frames.length === 0)) return;
    this.#error = error;
    for (const { payload } of this.#frames.splice(0)) if (payload !== undefined) giveBack(payload);
    this.#settle((waiting) => waiting.reject(error));
  }

  #settle(settle: (waiting: WaitingReader) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) settle(waiting);
  }
}

/** A frame of a lent chunk, whose payload holds the chunk; its other bytes do not refer to it. */
const heldFrame = (frame: Frame, chunk: Buffer): Frame => {
  if (frame.payload !== undefined) hold(chunk);
  return frame.body.buffer === chunk.buffer ? { ...frame, body: Buffer.from(frame.body) } : frame;
};
