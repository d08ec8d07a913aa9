import type { Socket } from "node:net";

/** Frames up to this size are made one after the other in one piece of memory, of which each byte is used once. */
const slabBytes = 64 * 1024;

const noBytes = Buffer.alloc(0);

/**
 * The output of a connection that many calls share. What is written while the process handles what it has received is
 * sent in one write, or in few, because a system call costs more than the rest of a small frame. It is made where it is
 * sent from, so that it is neither copied nor allocated by itself.
 */
export class GatheredWrites {
  readonly #socket: Socket;
  #slab: Buffer = noBytes;
  /** The bytes of the slab that wait are between these; those after them are free. */
  #start = 0;
  #end = 0;
  /** What waits before them. */
  #waiting: Buffer[] = [];
  /** How often memory was reserved since the last write. */
  #pieces = 0;
  #flushing: NodeJS.Immediate | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Memory for so many bytes, which are sent after all that was reserved before. The caller fills it at once. */
  readonly reserve = (bytes: number): Buffer => {
    this.#flushing ??= setImmediate(() => this.flush());
    this.#pieces += 1;
    if (bytes > slabBytes) {
      this.#closeRun();
      const own = Buffer.allocUnsafeSlow(bytes);
      this.#waiting.push(own);
      return own;
    }
    if (bytes > this.#slab.length - this.#end) {
      this.#closeRun();
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#start = 0;
      this.#end = 0;
    }
    const begin = this.#end;
    this.#end += bytes;
    return this.#slab.subarray(begin, this.#end);
  };

  /**
   * Sends what waits if most of so many unanswered pieces do: a peer with little to do then begins while this process
   * goes on, instead of both waiting for each other in turn, and one with much to do gets many pieces in one write.
   */
  flushIfMost(unanswered: number): void {
    if (2 * this.#pieces > unanswered) this.flush();
  }

  /** Sends what waits, now. */
  flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    this.#pieces = 0;
    this.#closeRun();
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    const socket = this.#socket;
    if (!socket.writable) return;
    if (waiting.length > 1) socket.cork();
    for (const each of waiting) socket.write(each);
    if (waiting.length > 1) socket.uncork();
  }

  #closeRun(): void {
    if (this.#start === this.#end) return;
    this.#waiting.push(this.#slab.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
