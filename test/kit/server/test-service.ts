import { setImmediate } from "node:timers/promises";

import { ErrorReason, ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { faultsOf } from "../../../services/kit/faults/service-error.ts";
import type { Authenticate } from "../../../services/kit/identity/authenticate.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { UnauthenticatedError } from "../../../services/kit/identity/unauthenticated-error.ts";
import type { Handlers } from "../../../services/kit/server/handlers.ts";
import { pending } from "../../../services/kit/server/handlers.ts";
import type { RunningServer, ServerOptions } from "../../../services/kit/server/server.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { openUpload } from "../../../services/kit/server/upload.ts";
import {
  StoreContentionError,
  StoreCorruptionError,
  StoreOverloadedError,
} from "../../../services/kit/store/errors.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const fault = faultsOf(ErrorReasonSchema);

/** What the handlers of the test service report to the test. */
export interface TestApp {
  /** Names of the calls of Wait and Upload that reached their handlers, in order; a call of Wait may have its own. */
  readonly begun: string[];
  /** Names of calls whose signal was aborted, in order. */
  readonly aborted: string[];
  /** How many messages Count and Download have made. */
  made: number;
  /** How many bytes Upload has taken. */
  takenBytes: number;
  /** Upload waits for this before it takes its first byte. */
  uploadGate: Promise<void> | undefined;
}

export const createTestApp = (): TestApp => ({ begun: [], aborted: [], made: 0, takenBytes: 0, uploadGate: undefined });

/** One handler of each kind of call. */
export const testHandlers: Handlers<typeof TestService, TestApp> = {
  async echo({ text, labels, number, body }, context) {
    if (text === "headers") {
      const wanted = context.requestHeader.get("x-echo") ?? "";
      context.responseHeader.set("x-echoed", wanted);
      context.responseTrailer.set("x-echoed-after", wanted);
    }
    return { text, labels, number, body, accountId: context.caller.accountId };
  },
  async *count({ last, failure }, { app, signal }) {
    try {
      for (let number = 1; number <= last; number += 1) {
        app.made += 1;
        yield { number };
      }
      fail(failure, "count");
    } finally {
      if (signal.aborted) app.aborted.push("count");
    }
  },
  async sum(requests) {
    let sum = 0n;
    let count = 0;
    for await (const { number } of requests) {
      sum += BigInt(number);
      count += 1;
    }
    return { sum, count };
  },
  async *converse(requests) {
    for await (const { text } of requests) yield { text };
  },
  async upload(requests, { app, responseHeader }) {
    app.begun.push("upload");
    const { head, body } = await openUpload(requests, "body");
    if (head.name === "headers") responseHeader.set("x-upload", "seen");
    fail(head.failure, head.name);
    await app.uploadGate;
    let sizeBytes = 0;
    for await (const chunk of body) {
      sizeBytes += chunk.length;
      app.takenBytes += chunk.length;
    }
    return { name: head.name, sizeBytes: BigInt(sizeBytes) };
  },
  async *download({ sizeBytes, chunkBytes }, { app }) {
    const chunk = new Uint8Array(chunkBytes === 0 ? 65_536 : chunkBytes).fill(7);
    let left = Number(sizeBytes);
    yield { sizeBytes };
    while (left > 0) {
      const body = left >= chunk.length ? chunk : chunk.subarray(0, left);
      left -= body.length;
      app.made += 1;
      yield { body };
    }
  },
  async refuse({ failure, thing }) {
    fail(failure, thing);
    return {};
  },
  async wait(_request, { app, signal, requestHeader }) {
    app.begun.push(requestHeader.get("x-name") ?? "wait");
    while (!signal.aborted) await setImmediate();
    app.aborted.push("wait");
    return {};
  },
  ...pending(TestService, "postpone"),
};

const fail = (failure: Failure, thing: string): void => {
  if (failure === Failure.DECLARED) throw fault(ErrorReason.THING_MISSING, { thing });
  if (failure === Failure.UNDECLARED) throw new Error("a secret detail");
  if (failure === Failure.CONTENTION) throw new StoreContentionError(8);
  if (failure === Failure.CORRUPTION) throw new StoreCorruptionError(new Uint8Array([1]), "checksum");
  if (failure === Failure.OVERLOAD) throw new StoreOverloadedError("too much waits");
};

/** Believes everyone who says "Bearer alice". */
export const authenticateAlice: Authenticate = async (authorization) => {
  if (authorization !== "Bearer alice") throw new UnauthenticatedError("untrusted");
  return rootCaller("111122223333");
};

/** The test service on a free port of the loopback interface, and the reports of its handlers. */
export const startTestServer = async (
  options: Partial<ServerOptions> = {},
): Promise<{ server: RunningServer; app: TestApp }> => {
  const app = createTestApp();
  const server = await startServer({
    name: "test",
    listen: { host: "127.0.0.1", port: 0 },
    services: [{ service: TestService, handlers: testHandlers, errors: ErrorReasonSchema, app }],
    authenticate: authenticateAlice,
    log: silentLogger,
    ...options,
  });
  return { server, app };
};
