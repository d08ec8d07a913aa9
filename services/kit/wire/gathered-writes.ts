import type { Socket } from "node:net";

/** Buffers up to this size in all are joined: a copy is cheaper than one more buffer in a write. */
const joinedBytesMax = 128 * 1024;

/**
 * The output of a connection that many calls share. What is written while the process handles what it has received is
 * sent in one write, because a system call costs more than the rest of a small frame.
 */
export class GatheredWrites {
  readonly #socket: Socket;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #flushing: NodeJS.Immediate | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  write(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    this.#flushing ??= setImmediate(() => this.flush());
  }

  /** Sends what waits, now. */
  flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const waiting = this.#waiting;
    const bytes = this.#bytes;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#bytes = 0;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (waiting.length === 1) socket.write(waiting[0]!);
    else if (bytes <= joinedBytesMax) socket.write(Buffer.concat(waiting, bytes));
    else {
      socket.cork();
      for (const each of waiting) socket.write(each);
      socket.uncork();
    }
  }
}
