import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import type { Socket } from "node:net";

import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";

import { bodyFrameBytesMax, bodyPreface } from "../wire/body-connection.ts";
import { drained } from "../wire/drained.ts";
import { endStreamFlag, frameHead, frameParts } from "../wire/frame-parser.ts";
import { giveBack, hold, isLent } from "../wire/lent-memory.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { countPassingBytes } from "../wire/passing-bytes.ts";
import { connectionError } from "./connect-answer.ts";
import type { Payload } from "./payload-requests.ts";
import type { RequestsOwner } from "./request-frames.ts";

/** Bytes that wait in the process for the connection; with fewer, each piece is a system call and a wait of its own. */
const waitingBytesMax = 256 * 1024;

/**
 * Sends the payload of a call on a connection of its own to a unix socket. If the call ends first, the payload's pieces
 * are closed; if they throw, the call fails with their exception.
 */
export class BodyConnection<I extends DescMessage> {
  /** Tells the server to which call the connection belongs. */
  readonly name = randomUUID();
  readonly #desc: I;
  readonly #payload: Payload<MessageInitShape<I>>;
  readonly #path: string;

  constructor(desc: I, payload: Payload<MessageInitShape<I>>, path: string) {
    this.#desc = desc;
    this.#payload = payload;
    this.#path = path;
  }

  /** Connects, and sends until the payload or the call ends. */
  start(owner: RequestsOwner): void {
    const options = { path: this.#path, writableHighWaterMark: waitingBytesMax };
    const socket = connect(options);
    const pieces = this.#payload.pieces[Symbol.asyncIterator]();
    let isEnded = false;
    let failure: Error | undefined;
    owner.onOver = () => {
      socket.destroy();
      if (!isEnded) void Promise.resolve(pieces.return?.()).catch(() => {});
    };
    socket.on("error", (error) => {
      failure = error;
    });
    socket.on("close", () => {
      if (isEnded || owner.isOver) return;
      owner.fail(connectionError(failure ?? new Error("the connection was closed")));
    });
    socket.write(Buffer.concat([bodyPreface, Buffer.from(this.name)]));
    const send = async (): Promise<void> => {
      const isWhole = await this.#sendPieces(pieces, socket, owner);
      isEnded = true;
      if (!isWhole) {
        // Without the last frame the server gives the call up, unless it has refused it already.
        socket.end();
        return;
      }
      const last = this.#payload.last();
      socket.cork();
      if (last !== undefined) {
        const { parts, byteLength } = messageCodec(this.#desc).encode(last);
        for (const part of frameParts(0, parts, byteLength)) socket.write(part);
      }
      for (const part of frameParts(endStreamFlag, [], 0)) socket.write(part);
      socket.uncork();
    };
    send().catch((error: unknown) => {
      isEnded = true;
      // The caller's own exception is the cause.
      owner.fail(ConnectError.from(error));
    });
  }

  /** Sends the pieces in frames of a size that is known before they arrive. Returns whether all of them came. */
  async #sendPieces(pieces: AsyncIterator<Uint8Array>, socket: Socket, owner: RequestsOwner): Promise<boolean> {
    const { payloadHead } = messageCodec(this.#desc);
    let left = this.#payload.sizeBytes ?? 0;
    let frameLeft = 0;
    while (!owner.isOver) {
      const next = await pieces.next();
      if (next.done === true) return left === 0;
      const piece = next.value;
      if (piece.length > left) throw new Error("the payload is longer than it was said to be");
      if (!isLent(piece)) countPassingBytes(piece.length);
      socket.cork();
      for (let at = 0; at < piece.length;) {
        hold(piece);
        if (frameLeft === 0) {
          frameLeft = Math.min(left, bodyFrameBytesMax);
          const head = payloadHead(frameLeft);
          socket.write(frameHead(0, head.length + frameLeft, head));
        }
        const part = piece.subarray(at, at + frameLeft);
        at += part.length;
        socket.write(part, () => giveBack(part));
        frameLeft -= part.length;
        left -= part.length;
      }
      socket.uncork();
      // Each part of it has a holder of its own.
      giveBack(piece);
      if (socket.writableNeedDrain) await drained(socket);
    }
    return false;
  }
}
