import { IncomingMessage } from "node:http";
import { Socket } from "node:net";

import { expect, onTestFinished, test, vi } from "vitest";

import { defaultServerLimits } from "../../../services/kit/server/limits.ts";
import { lingerOver } from "../../../services/kit/server/linger.ts";

const limits = { ...defaultServerLimits, lingerMs: 1_000, lingerBytesMax: 10 };

/** A request that was answered before its body was read. */
const answeredEarly = (): IncomingMessage => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  return new IncomingMessage(new Socket());
};

test("a connection stays open for further requests after a request that is complete", () => {
  const request = answeredEarly();
  request.complete = true;
  lingerOver(request, limits);
  vi.advanceTimersByTime(10_000);
  expect(request.socket.destroyed).toBe(false);
});

test("a connection is closed when the rest of its request takes too long", () => {
  const request = answeredEarly();
  lingerOver(request, limits);
  vi.advanceTimersByTime(999);
  expect(request.socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(request.socket.destroyed).toBe(true);
});

test.each([
  ["0123456789", false],
  ["0123456789a", true],
])("a connection is closed when the rest of its request is too large: %s", (rest, isClosed) => {
  const request = answeredEarly();
  lingerOver(request, limits);
  request.emit("data", Buffer.from(rest));
  expect(request.socket.destroyed).toBe(isClosed);
});
