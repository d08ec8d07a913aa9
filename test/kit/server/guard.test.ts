import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ErrorReason, ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import type { SumRequest } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { SumRequestSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { faultsOf } from "../../../services/kit/faults/service-error.ts";
import { guarded } from "../../../services/kit/server/guard.ts";
import type { Handlers } from "../../../services/kit/server/handlers.ts";
import { authenticateAlice, createTestApp, startTestServer, testHandlers } from "./test-service.ts";
import type { TestApp } from "./test-service.ts";

const fault = faultsOf(ErrorReasonSchema);
const headers = { authorization: "Bearer alice" };

describe("guarded", () => {
  /** Names of the methods whose guard was asked, with the first request's type; and whom it lets in. */
  const asked: string[] = [];
  let isOpen = true;
  /** What handlers saw as the guard's decision. */
  const seen: unknown[] = [];

  const noting = (handlers: Handlers<typeof TestService, TestApp>): Handlers<typeof TestService, TestApp> =>
    Object.fromEntries(
      Object.entries(handlers).map(([name, handler]) => [
        name,
        typeof handler === "function"
          ? (request: never, context: { access: unknown }) => {
              seen.push(context.access);
              return (handler as (request: never, context: never) => unknown)(request, context as never);
            }
          : handler,
      ]),
    ) as never;

  const handlers = guarded(TestService, noting(testHandlers), async (request: Message, context) => {
    asked.push(`${context.method.name} ${request.$typeName}`);
    if (!isOpen) throw fault(ErrorReason.THING_MISSING, { thing: context.method.name });
    return `decision on ${context.method.name}`;
  });

  let call: (name: string) => Promise<unknown>;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const services = [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }];
    const { server } = await startTestServer({ services, authenticate: authenticateAlice });
    const transport = createTransport({ address: server.url, engine: "grpc" });
    close = async () => {
      await transport.close();
      await server.stop();
    };
    const requestsOf = async function* (): AsyncIterable<SumRequest> {
      yield create(SumRequestSchema, { number: 1 });
      yield create(SumRequestSchema, { number: 2 });
    };
    call = async (name) => {
      const method = TestService.methods.find((each) => each.localName === name);
      if (method === undefined) throw new Error(`no method ${name}`);
      if (method.methodKind === "unary") return transport.unary(method as never, undefined, undefined, headers, {});
      const input =
        method.methodKind === "server_streaming"
          ? (async function* () {
              yield create(method.input, name === "count" ? { last: 2 } : {});
            })()
          : name === "sum"
            ? requestsOf()
            : (async function* () {
                yield create(method.input);
              })();
      const { message } = await transport.stream(method as never, undefined, undefined, headers, input as never);
      return Array.fromAsync(message as AsyncIterable<Message>);
    };
  });

  afterAll(() => close());

  test("asks once for each call, with its first request, and hands the decision to the handler", async () => {
    for (const name of ["echo", "count", "sum", "converse"]) await call(name);
    expect(asked).toEqual([
      "Echo quartet.test.v1.EchoRequest",
      "Count quartet.test.v1.CountRequest",
      "Sum quartet.test.v1.SumRequest",
      "Converse quartet.test.v1.ConverseRequest",
    ]);
    expect(seen).toEqual(["decision on Echo", "decision on Count", "decision on Sum", "decision on Converse"]);
  });

  test("passes every request and every answer of a stream on, the first ones too", async () => {
    expect(await call("count")).toMatchObject([{ number: 1 }, { number: 2 }]);
    expect(await call("sum")).toMatchObject([{ sum: 3n, count: 2 }]);
    expect(await call("converse")).toMatchObject([{ text: "" }]);
  });

  test("reaches no handler of any kind, offered or not, when it refuses", async () => {
    isOpen = false;
    seen.length = 0;
    for (const { localName, name } of TestService.methods)
      await expect(call(localName)).rejects.toMatchObject({ rawMessage: expect.stringContaining(name) });
    expect(seen).toEqual([]);
    isOpen = true;
  });

  test("lets a call through to the refusal of an operation that is not offered", async () => {
    await expect(call("postpone")).rejects.toMatchObject({ rawMessage: expect.stringContaining("Postpone") });
  });
});
