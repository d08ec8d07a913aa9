import { createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test, vi } from "vitest";

import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { streamEnd } from "../../../services/kit/client/connect-answer.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { startTestServer } from "../server/test-service.ts";

/** The errors that were made, by all modules: each error class that they define extends this one. */
const made = vi.hoisted(() => {
  const names: string[] = [];
  const Native = globalThis.Error;
  class CountedError extends Native {
    constructor(...parts: ConstructorParameters<typeof Native>) {
      super(...parts);
      names.push(`${new.target.name}: ${this.message}`);
    }
    static override [Symbol.hasInstance](value: unknown): boolean {
      return this === CountedError ? value instanceof Native : Function.prototype[Symbol.hasInstance].call(this, value);
    }
  }
  globalThis.Error = CountedError as ErrorConstructor;
  return names;
});

const all = async <T>(messages: AsyncIterable<T>): Promise<T[]> => {
  const taken: T[] = [];
  for await (const message of messages) taken.push(message);
  return taken;
};

async function* numbers() {
  for (const number of [1, 2, 3]) yield { number };
}

// The Connect engine only: the gRPC library makes an error for the stack of each call.
test("a call that succeeds makes no error, neither in the client nor in the server", async () => {
  const { server } = await startTestServer();
  const transport = createTransport({ address: server.url, engine: "connect", token: async () => "alice" });
  onTestFinished(async () => {
    await transport.close();
    await server.stop(0);
  });
  const client = createClient(TestService, transport);
  const call = async () => {
    await client.echo({ text: "headers" }, { headers: { "x-echo": "said" } });
    await client.sum(numbers());
    await all(client.count({ last: 3 }));
    await all(client.download({ sizeBytes: 200_000n }));
  };
  // The first calls make the connection and read tables once.
  await call();
  made.length = 0;
  await call();
  expect(made).toEqual([]);
  await expect(client.refuse({ failure: Failure.DECLARED, thing: "tea" })).rejects.toThrow("tea");
  expect(made.length).toBeGreaterThan(0);
});

// frame | trailer | error
test.each([
  ["{}", [], undefined],
  ["{ }", [], undefined],
  ['{"metadata":{"x-a":["1","2"],"x-b":[]}}', [["x-a", "1, 2"]], undefined],
  ['{"metadata":{"x-a":["1"]},"error":{"code":"aborted","message":"gone"}}', [["x-a", "1"]], "[aborted] gone"],
])("the last frame %s has the trailer %j and the error %s", (frame, trailer, error) => {
  const end = streamEnd(Buffer.from(frame));
  expect([[...(end.metadata ?? [])], end.error?.message]).toEqual([trailer, error]);
});

test.each(["", "[]", "null", '{"metadata":[]}', '{"metadata":{"x-a":"1"}}', '{"metadata":{"x-a":[1]}}'])(
  "the last frame %j is malformed",
  (frame) => {
    expect(() => streamEnd(Buffer.from(frame))).toThrow("[unknown] invalid end stream");
  },
);
