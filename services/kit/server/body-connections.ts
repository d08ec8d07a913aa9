import type { Socket } from "node:net";

import type { Message } from "@bufbuild/protobuf";

import { bodyNameBytes, bodyPreface } from "../wire/body-connection.ts";
import { endStreamFlag } from "../wire/frame-parser.ts";
import { FrameQueue } from "../wire/frame-queue.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { FrameDecoding } from "./request-body.ts";
import { callEnded, decodeFrame } from "./request-body.ts";

/** How long a connection waits for its call. */
const waitMsMax = 10_000;

const headBytes = bodyPreface.length + bodyNameBytes;

/** The connections that carry the content of large uploads. Each serves one call, which names it. */
export class BodyConnections {
  readonly #dispatcher: Dispatcher;
  /** Connections whose calls have not come yet. */
  readonly #arrived = new Map<string, Socket>();
  /** Calls whose connections have not come yet. */
  readonly #awaited = new Map<string, (socket: Socket) => void>();

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Serves a connection. What follows its name is read when its call asks for it. */
  serve(socket: Socket): void {
    let name: string | undefined;
    const stopWaiting = this.#dispatcher.later(waitMsMax, () => {
      if (name === undefined || this.#arrived.has(name)) socket.destroy();
    });
    const look = (): void => {
      const head = socket.read(headBytes) as Buffer | null;
      if (head === null) return;
      socket.off("readable", look);
      socket.pause();
      name = head.toString("latin1", bodyPreface.length);
      const take = this.#awaited.get(name);
      if (!head.subarray(0, bodyPreface.length).equals(bodyPreface) || this.#arrived.has(name)) socket.destroy();
      else if (take === undefined) this.#arrived.set(name, socket);
      else take(socket);
    };
    socket.on("readable", look);
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.once("close", () => {
      stopWaiting();
      if (name !== undefined && this.#arrived.get(name) === socket) this.#arrived.delete(name);
    });
  }

  /**
   * The messages of a call: those of its own body, which come first, and those of the connection that it names. They
   * must be closed. A connection that ends before its last frame gives the call up.
   */
  messages(name: string, own: AsyncIterator<Message>, decoding: FrameDecoding, call: Call): AsyncIterator<Message> {
    let connection: Socket | undefined;
    let isOwnEnded = false;
    const flow = { pause: () => connection?.pause(), resume: () => connection?.resume() };
    const queue = new FrameQueue(decoding.limitBytes, flow, call.route.input.findPayload);
    const take = (socket: Socket): void => {
      this.#awaited.delete(name);
      connection = socket;
      const gone = (): void => this.#dispatcher.abandon(call);
      socket.on("data", (chunk: Buffer) => queue.pushToFree(chunk));
      socket.pause();
      socket.on("end", gone);
      socket.on("close", gone);
      if (isOwnEnded) socket.resume();
    };
    const arrived = this.#arrived.get(name);
    if (arrived === undefined) this.#awaited.set(name, take);
    else {
      this.#arrived.delete(name);
      take(arrived);
    }
    call.whenAborted((reason) => queue.fail(reason));
    return {
      next: async () => {
        if (!isOwnEnded) {
          const next = await own.next();
          if (next.done !== true) return next;
          isOwnEnded = true;
        }
        call.awaitsSinceMs = performance.now();
        const frame = await queue.next();
        call.awaitsSinceMs = undefined;
        if (frame === undefined || frame.flags === endStreamFlag) return { done: true, value: undefined };
        return { done: false, value: await decodeFrame(frame, decoding) };
      },
      return: async () => {
        this.#awaited.delete(name);
        queue.fail(callEnded);
        if (connection !== undefined) leave(connection, this.#dispatcher.limits.lingerMs);
        await own.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}

/** Closes a connection whose call has ended, after its caller, unless the caller does not in time. */
const leave = (socket: Socket, lingerMs: number): void => {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  socket.removeAllListeners("data");
  socket.resume();
};
