/*
 * Goal: a handler that goes on after its call was given up changes nothing: its answer was sent, its connection and the
 * server serve on, and nothing is logged as a defect. A write after the end of an answer would end the process.
 */
import { setImmediate } from "node:timers/promises";

import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { createTestApp, startTestServer, testHandlers } from "./test-service.ts";
import { listenFor, ways } from "./transports.ts";

const large = { text: "late".repeat(100_000) };

describe.each(ways)("by $name", ({ open, ...way }) => {
  /** Calls a handler that goes on after the deadline; resolves with the lines of defects. */
  const callLate = async (
    kind: "wait" | "count" | "echo",
    when: "at once" | "later",
    goOn: () => object,
  ): Promise<string[]> => {
    let begun = 0;
    let over = 0;
    const afterDeadline = async (signal: AbortSignal): Promise<object> => {
      begun += 1;
      if (when === "at once") await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      while (!signal.aborted) await setImmediate();
      // By now the answer is sent, and its stream is closed.
      for (let turns = 0; turns < 20 && when === "later"; turns += 1) await setImmediate();
      try {
        return goOn();
      } finally {
        over += 1;
      }
    };
    const handlers = {
      ...testHandlers,
      wait: (_request: unknown, { signal }: { readonly signal: AbortSignal }) => afterDeadline(signal),
      echo: (request: { readonly text: string }, { signal }: { readonly signal: AbortSignal }) =>
        request.text === "late" ? afterDeadline(signal) : Promise.resolve({ text: request.text }),
      count: async function* (_request: unknown, { signal }: { readonly signal: AbortSignal }) {
        yield { number: 1 };
        yield afterDeadline(signal);
        yield { number: 3 };
      },
    };
    const { log, lines } = capturingLogger("error");
    const services = [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }];
    const { server } = await startTestServer({ ...listenFor(way), services, log });
    onTestFinished(() => server.stop(0));
    const transport = open(server.url, "alice");
    onTestFinished(() => transport.close?.());
    const client = createClient(TestService, transport);
    const calling = async (timeoutMs: number): Promise<void> => {
      if (kind === "wait") await client.wait({}, { timeoutMs });
      else if (kind === "echo") await client.echo({ text: "late" }, { timeoutMs });
      else for await (const _answer of client.count({}, { timeoutMs })) continue;
    };
    // On a busy machine a call may be late before its handler begins.
    for (let timeoutMs = 50; begun === 0; timeoutMs *= 2)
      await expect(calling(timeoutMs)).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await eventually(() => over === begun, "the handler has gone on");
    for (let call = 0; call < 3; call += 1) expect((await client.echo({ text: "on" })).text).toBe("on");
    return lines.map(({ msg }) => String(msg));
  };

  const fail = (): never => {
    throw new Error("late");
  };

  test.each([
    ["wait", "answers", "later", () => ({})],
    ["wait", "answers", "at once", () => ({})],
    ["wait", "fails", "later", fail],
    ["wait", "fails", "at once", fail],
    ["echo", "answers much", "later", () => large],
    ["echo", "answers much", "at once", () => large],
    ["count", "goes on", "later", () => ({ number: 2 })],
    ["count", "goes on", "at once", () => ({ number: 2 })],
    ["count", "fails", "later", fail],
    ["count", "fails", "at once", fail],
  ] as const)("a call of %s that %s after its deadline, %s", async (kind, _how, when, goOn) => {
    expect(await callLate(kind, when, goOn)).toEqual([]);
  });
});
