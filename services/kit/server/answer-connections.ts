import type { Socket } from "node:net";

import { answerNameBytes, answerPreface } from "../wire/answer-connection.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { answerHead } from "./large-answer.ts";

/** The connections on which large answers are sent. */
export class AnswerConnections {
  readonly #dispatcher: Dispatcher;
  readonly #elsewhere: Elsewhere;
  readonly #sockets = new Set<Socket>();

  constructor(dispatcher: Dispatcher, elsewhere: Elsewhere) {
    this.#dispatcher = dispatcher;
    this.#elsewhere = elsewhere;
  }

  /** Serves a connection. One that asks for an answer before it has the last one is closed. */
  serve(socket: Socket): void {
    this.#sockets.add(socket);
    let asked: Buffer = Buffer.alloc(0);
    let hasPreface = false;
    let isSending = false;
    const take = (chunk: Buffer): void => {
      asked = Buffer.concat([asked, chunk]);
      if (!hasPreface && asked.length >= answerPreface.length) {
        hasPreface = asked.subarray(0, answerPreface.length).equals(answerPreface);
        asked = asked.subarray(answerPreface.length);
        if (!hasPreface) socket.destroy();
      }
      if (isSending || asked.length > headBytesMax) socket.destroy();
      if (!hasPreface || asked.length < answerNameBytes || socket.destroyed) return;
      const send = this.#elsewhere.take(asked.toString("latin1"));
      asked = Buffer.alloc(0);
      if (send === undefined) {
        socket.write(answerHead("404", []));
        return;
      }
      isSending = true;
      void send(socket).then(() => {
        isSending = false;
      });
    };
    socket.on("data", take);
    socket.on("end", () => socket.end());
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    socket.setTimeout(this.#dispatcher.limits.stallTimeoutMs, () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    socket.resume();
  }

  /** No call follows, so no answer: ends all connections after what is being sent. */
  leave(): void {
    for (const socket of this.#sockets) socket.end();
  }
}

const headBytesMax = answerPreface.length + answerNameBytes;
