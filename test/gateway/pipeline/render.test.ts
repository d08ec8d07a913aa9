import { Code, ConnectError } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";

import { capturingLogger } from "../../support/capturing-logger.ts";
import { startFixture } from "../support/fixture.ts";

test.each([
  // what the service does, the text in the gateway's log
  ["an exception that it did not declare", () => new Error("a text from inside"), "[internal]"],
  ["a code without a declared reason", () => new ConnectError("a text from inside", Code.DataLoss), "[internal]"],
])("a 500 that comes from a service leaves its cause in the gateway's log: %s", async (_name, thrown, text) => {
  const { log, lines } = capturingLogger("error");
  const fixture = await startFixture({}, { log });
  onTestFinished(() => fixture.stop());
  fixture.answer("ListShelves", () => {
    throw thrown();
  });
  const response = await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
  expect(response.status).toBe(500);
  expect(lines).toEqual([
    expect.objectContaining({
      msg: "a request met a defect",
      api: "object-storage",
      operation: "ListShelves",
      requestId: response.headers["x-amz-request-id"],
      err: expect.objectContaining({ type: "ConnectError", message: expect.stringContaining(text) }),
    }),
  ]);
});

test("an answer that fails half-way ends the connection", async () => {
  const fixture = await startFixture();
  onTestFinished(() => fixture.stop());
  fixture.answer("GetBook", async function* () {
    yield { contentLength: 8n, body: Buffer.from("Emma") };
    throw new Error("the rest is lost");
  });
  const headers = fixture.sign("object-storage", "amz", { method: "GET", target: "/novels/emma" });
  const read = async (): Promise<string> => {
    const response = await fetch(`${fixture.url}/novels/emma`, { headers, signal: AbortSignal.timeout(5_000) });
    return response.text();
  };
  // Not the timeout, which is no TypeError.
  await expect(read()).rejects.toThrow(TypeError);
});
