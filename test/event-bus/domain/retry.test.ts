import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { classifyStatus } from "../../../services/event-bus/domain/http-outcome.ts";
import type { RetryState } from "../../../services/event-bus/domain/retry.ts";
import { decideRetry, retryLimitsOf } from "../../../services/event-bus/domain/retry.ts";

/** What a dead letter says about a status. */
const statusMessage = (status: number): string => `The endpoint answered with status ${status}.`;

describe("decideRetry", () => {
  const limits = { attemptsMax: 3, ageMsMax: 60_000 };
  const state: RetryState = { nowMs: 1_000, ingestedMs: 0, retriesMade: 0, notBeforeMs: undefined };

  // change of the state | random | decision
  test.each<[Partial<RetryState>, number, unknown]>([
    [{}, 0, { kind: "retry", atMs: 1_500 }],
    [{}, 1, { kind: "retry", atMs: 2_000 }],
    [{ retriesMade: 2 }, 0.5, { kind: "retry", atMs: 4_000 }],
    [{ retriesMade: 3 }, 0, { kind: "exhausted", condition: "MaximumRetryAttempts" }],
    [{ nowMs: 60_000 }, 0, { kind: "exhausted", condition: "MaximumEventAgeInSeconds" }],
    [{ nowMs: 59_900 }, 1, { kind: "retry", atMs: 60_000 }],
    [{ notBeforeMs: 30_000 }, 0, { kind: "retry", atMs: 30_000 }],
    [{ notBeforeMs: 500 }, 0, { kind: "retry", atMs: 1_500 }],
    [{ notBeforeMs: 60_001 }, 0, { kind: "exhausted", condition: "MaximumEventAgeInSeconds" }],
  ])("after %o with the random number %d decides %o", (change, random, decision) => {
    expect(decideRetry(limits, { ...state, ...change }, random)).toEqual(decision);
  });

  test("waits ten minutes at most", () => {
    const long = { attemptsMax: 185, ageMsMax: 86_400_000 };
    expect(decideRetry(long, { ...state, retriesMade: 100 }, 1)).toEqual({ kind: "retry", atMs: 601_000 });
  });

  test("takes 185 tries and a day where the target names nothing", () => {
    expect(retryLimitsOf(create(TargetSchema, {}))).toEqual({ attemptsMax: 185, ageMsMax: 86_400_000 });
    expect(
      retryLimitsOf(create(TargetSchema, { retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: 60 } })),
    ).toEqual({ attemptsMax: 0, ageMsMax: 60_000 });
  });
});

describe("classifyStatus", () => {
  const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

  // status | Retry-After | verdict
  test.each([
    [200, undefined, { kind: "delivered" }],
    [204, "10", { kind: "delivered" }],
    [301, undefined, { kind: "failed", code: "ERROR_FROM_TARGET", message: statusMessage(301) }],
    [400, undefined, { kind: "failed", code: "ERROR_FROM_TARGET", message: statusMessage(400) }],
    [401, undefined, { kind: "retry", code: "ERROR_FROM_TARGET", message: statusMessage(401) }],
    [403, undefined, { kind: "failed", code: "ERROR_FROM_TARGET", message: statusMessage(403) }],
    [407, undefined, { kind: "retry", code: "ERROR_FROM_TARGET", message: statusMessage(407) }],
    [409, undefined, { kind: "retry", code: "ERROR_FROM_TARGET", message: statusMessage(409) }],
    [429, undefined, { kind: "retry", code: "THROTTLING", message: statusMessage(429) }],
    [429, "7", { kind: "retry", code: "THROTTLING", message: statusMessage(429), notBeforeMs: nowMs + 7_000 }],
    [
      503,
      "Fri, 02 Jan 2026 03:05:05 GMT",
      { kind: "retry", code: "ERROR_FROM_TARGET", message: statusMessage(503), notBeforeMs: nowMs + 60_000 },
    ],
    [503, "-1", { kind: "failed", code: "ERROR_FROM_TARGET", message: statusMessage(503) }],
    [500, "soon", { kind: "retry", code: "ERROR_FROM_TARGET", message: statusMessage(500) }],
  ])("reads the status %i with Retry-After %s", (status, retryAfter, verdict) => {
    expect(classifyStatus(status, retryAfter, nowMs)).toEqual(verdict);
  });
});
