import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { Call } from "../../../services/kit/server/call.ts";
import type { Route } from "../../../services/kit/server/route.ts";
import { ProtocolError } from "../../../services/kit/wire/protocol-error.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const gone = new ProtocolError(Code.Canceled, "The caller went away.");
const late = new ProtocolError(Code.DeadlineExceeded, "The deadline passed.");

/** A call, and the reasons for which its listener was called. */
const openCall = () => {
  const route = { path: "/quartet.test.v1.TestService/Echo", method: TestService.method.echo } as unknown as Route;
  const call = new Call(route, {}, "r1", undefined, silentLogger);
  const heard: unknown[] = [];
  call.whenAborted((reason) => heard.push(reason));
  return { call, heard };
};

test("a call is given up once, for its first reason", () => {
  const { call, heard } = openCall();
  const { signal } = call;
  call.abort(gone);
  call.abort(late);
  expect([heard, call.abortReason, signal.reason]).toEqual([[gone], gone, gone]);
});

test("a call that has ended is not given up", () => {
  const { call, heard } = openCall();
  const { signal } = call;
  call.close();
  call.abort(gone);
  expect([heard, call.abortReason, signal.aborted]).toEqual([[], undefined, false]);
});
