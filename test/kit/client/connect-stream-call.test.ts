import type { IncomingHttpHeaders } from "node:http";

import type { ConnectError } from "@connectrpc/connect";
import { Code, ConnectError as Refusal } from "@connectrpc/connect";
import type { Dispatcher } from "undici";
import { expect, test } from "vitest";

import { ConnectStreamCall } from "../../../services/kit/client/connect-stream-call.ts";
import { endStreamFlag, frameParts } from "../../../services/kit/wire/frame-parser.ts";

const headers: IncomingHttpHeaders = { "content-type": "application/connect+proto" };

/** A call that its connection has begun, and what was asked of the connection. */
const startCall = (signal?: AbortSignal) => {
  const aborted: Error[] = [];
  const controller = {
    abort: (reason: Error) => void aborted.push(reason),
    pause: () => {},
    resume: () => {},
  } as unknown as Dispatcher.DispatchController;
  const call = new ConnectStreamCall(1024, signal, undefined, undefined);
  let overs = 0;
  call.onOver = () => {
    overs += 1;
  };
  call.onRequestStart(controller);
  const ignore = (): void => {};
  const read = () => Array.fromAsync(call.messages(({ body }) => Buffer.from(body).toString(), ignore));
  return { call, controller, aborted, overs: () => overs, read };
};

const frame = (flags: number, text: string): Buffer =>
  Buffer.concat(frameParts(flags, [Buffer.from(text)], Buffer.byteLength(text)));

const answerWhole = ({ call, controller }: ReturnType<typeof startCall>): void => {
  call.onResponseStart(controller, 200, headers);
  call.onResponseData(controller, Buffer.concat([frame(0, "milk"), frame(endStreamFlag, "{}")]));
  call.onResponseEnd();
};

test("what fails after the whole answer has arrived takes nothing of it away, and no other request's connection", async () => {
  const started = startCall();
  answerWhole(started);
  started.call.fail(new Refusal("the deadline passed", Code.DeadlineExceeded));
  started.call.onResponseError(started.controller, new Error("read ECONNRESET"));
  expect([await started.read(), started.aborted, started.overs()]).toEqual([["milk"], [], 1]);
});

test("a call that is given up is aborted on its connection, and ends with that alone", async () => {
  const started = startCall();
  started.call.fail(new Refusal("the deadline passed", Code.DeadlineExceeded));
  started.call.fail(new Refusal("the call was cancelled", Code.Canceled));
  started.call.onResponseError(started.controller, started.aborted[0] as Error);
  const refused = (await started.call.headers.catch((error: unknown) => error)) as ConnectError;
  expect([refused.code, started.aborted.length, started.overs()]).toEqual([Code.DeadlineExceeded, 1, 1]);
});

test("a call that was given up before its request began is aborted when it begins", () => {
  const { aborted } = startCall(AbortSignal.abort());
  expect(aborted.map(({ message }) => message)).toEqual(["[canceled] the call was cancelled"]);
});

test("an answer with another status than 200 is the refusal that it holds", async () => {
  const started = startCall();
  started.call.onResponseStart(started.controller, 503, { "content-type": "application/json" });
  started.call.onResponseData(started.controller, Buffer.from('{"code":"unavailable","message":"too busy"}'));
  started.call.onResponseEnd();
  const refused = (await started.call.headers.catch((error: unknown) => error)) as ConnectError;
  expect([refused.code, refused.rawMessage, started.aborted]).toEqual([Code.Unavailable, "too busy", []]);
});
