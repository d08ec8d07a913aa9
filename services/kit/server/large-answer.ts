import type { Socket } from "node:net";

import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";

import { Turn } from "../clock/turn.ts";
import { frameParts } from "../wire/frame-parser.ts";
import { giveBack } from "../wire/lent-memory.ts";
import { encodeSharedFrame, frameKinds } from "../wire/shared-frames.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import { streamEnd } from "./lane-connect.ts";

/** The first frame of an answer. */
export const answerHead = (status: string, lines: readonly string[]): Buffer =>
  encodeSharedFrame(frameKinds.answer, 0, status, lines, []);

/** The messages of a large answer. */
export interface LargeMessages {
  /** The frame of the first message. */
  readonly first: readonly Uint8Array[];
  /** The messages that follow; the first of them was asked for already. Unset: there are none. */
  readonly more?: { readonly asked: Promise<IteratorResult<Message>>; readonly answers: AsyncGenerator<Message> };
}

/** A large answer of a call, with the names and values of its headers. */
interface LargeAnswer extends LargeMessages {
  readonly call: Call;
  readonly lines: readonly string[];
}

/**
 * Sends an answer and closes its call. While the network has not accepted one message, only the next one is asked for.
 * The call is given up when the connection closes.
 */
export const sendLarge = async (
  dispatcher: Dispatcher,
  { call, lines, first, more }: LargeAnswer,
  socket: Socket,
): Promise<void> => {
  const abandon = (): void => dispatcher.abandon(call);
  const fail = (thrown: unknown): void => {
    if (call.isClosed) return;
    const error = dispatcher.refuse(call, thrown);
    for (const part of streamEnd(call, error)) socket.write(part);
    dispatcher.close(call, error);
  };
  socket.once("close", abandon);
  try {
    call.whenAborted(fail);
    if (socket.destroyed) abandon();
    if (call.isClosed) return;
    let written = write(socket, [answerHead("200", lines), ...first]);
    const turn = new Turn();
    let asked = more?.asked;
    while (more !== undefined && asked !== undefined) {
      const next = await asked;
      if (next.done === true) break;
      const { parts, byteLength } = call.route.output.encode(next.value);
      if (call.isClosed) return;
      const before = written;
      written = write(socket, frameParts(0, parts, byteLength));
      await before;
      if (turn.isOver) await turn.next();
      asked = more.answers.next();
    }
    if (call.isClosed) return;
    for (const part of streamEnd(call, undefined)) socket.write(part);
    dispatcher.close(call);
  } catch (thrown) {
    fail(thrown);
  } finally {
    socket.off("close", abandon);
    void more?.answers.return(undefined).catch(() => {});
  }
};

/** Sends the refusal of a call that has ended instead of its answer. */
export const sendRefusal = (call: Call, error: ConnectError, socket: Socket): Promise<void> =>
  write(socket, [answerHead("200", ["x-request-id", call.requestId]), ...streamEnd(call, error)]);

/** Writes parts together. Resolves when the network has accepted them or has given them up; returns lent ones. */
const write = (socket: Socket, parts: readonly Uint8Array[]): Promise<void> =>
  new Promise((resolve) => {
    let left = parts.length;
    const done = (part: Uint8Array): void => {
      giveBack(part);
      left -= 1;
      if (left === 0) resolve();
    };
    socket.cork();
    for (const part of parts) socket.write(part, () => done(part));
    socket.uncork();
  });
