import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** Bytes that a socket may receive besides what is added below: clients hold what has no end yet, however long. */
const receivedBytesMax = 16 * 1024 * 1024;
/** Bytes more for each message that the broker has acknowledged, and for each second. */
const bytesPerMessage = 64 * 1024;
const bytesPerSecond = 4 * 1024;

/** How often the sockets are looked at, in milliseconds. */
const watchMs = 100;

const watching = new AsyncLocalStorage<ReceivedBytes>();

// Clients make their sockets themselves; those that are made for a broker are known by the call that they are made in.
subscribe("net.client.socket", (message) => {
  watching.getStore()?.add((message as { readonly socket: Socket }).socket);
});

/** Watches a socket that is not made by `net.connect`, if it is made for a broker. */
export const watchSocket = (socket: Socket): Socket => {
  watching.getStore()?.add(socket);
  return socket;
};

/**
 * Bounds what the sockets of one broker receive: answers are short. A socket that receives more is destroyed, so that
 * an answer without an end takes no memory without an end.
 */
export class ReceivedBytes {
  readonly #sockets = new Map<Socket, Received>();
  #timer: NodeJS.Timeout | undefined;

  /** Does work that may make sockets. */
  watch<T>(work: () => T): T {
    return watching.run(this, work);
  }

  /** The broker has acknowledged a message. */
  acknowledge(): void {
    for (const [socket, state] of this.#sockets) {
      add(state, bytesPerMessage);
      state.acknowledgedBytes = socket.bytesRead;
    }
  }

  /**
   * A message was not acknowledged in time: sockets that have received something since the last one that was are
   * destroyed. They may be in the middle of an answer that does not end, behind which no other is read.
   */
  endUnfinished(): void {
    for (const [socket, { acknowledgedBytes }] of this.#sockets)
      if (socket.bytesRead > acknowledgedBytes) socket.destroy(new Error("the broker does not answer in time"));
  }

  add(socket: Socket): void {
    this.#sockets.set(socket, { seenBytes: 0, leftBytes: receivedBytesMax, acknowledgedBytes: 0 });
    socket.once("close", () => this.#sockets.delete(socket));
    this.#timer ??= setInterval(() => this.#look(), watchMs).unref();
  }

  #look(): void {
    for (const [socket, state] of this.#sockets) {
      const { bytesRead } = socket;
      state.leftBytes -= bytesRead - state.seenBytes;
      state.seenBytes = bytesRead;
      if (state.leftBytes < 0) socket.destroy(new Error("the broker sends more than answers"));
      else add(state, (bytesPerSecond * watchMs) / 1000);
    }
    if (this.#sockets.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** What a socket has received. */
interface Received {
  /** When it was last looked at. */
  seenBytes: number;
  leftBytes: number;
  /** When its broker last acknowledged a message. */
  acknowledgedBytes: number;
}

const add = (state: Received, bytes: number): void => {
  state.leftBytes = Math.min(receivedBytesMax, state.leftBytes + bytes);
};
