import { expect, onTestFinished, test, vi } from "vitest";

import { PathReader } from "../../../services/event-bus/json/json-path.ts";
import { startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

test("everything else runs between the inputs that the targets of a large event get", async () => {
  const { client, app } = await startHarness();
  const { sell, till, destinationArn } = await openShop(client);
  const targets = Array.from({ length: 5 }, (_none, index) => ({
    id: `t${index}`,
    arn: destinationArn,
    inputTransformer: { inputPathsMap: { n: "$.detail.n" }, inputTemplate: `{"n":<n>}` },
  }));
  for (const rule of ["a", "b", "c", "d"]) {
    await client.putRule({ name: rule, eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule, targets });
  }
  let round = 0;
  const next = (): void => {
    round += 1;
    counting = setImmediate(next);
  };
  let counting = setImmediate(next);
  onTestFinished(() => clearImmediate(counting));
  const rounds: number[] = [];
  const { read } = PathReader.prototype;
  const slow = vi.spyOn(PathReader.prototype, "read").mockImplementation(function occupying(this: PathReader, path) {
    rounds.push(round);
    for (const untilMs = performance.now() + 6; performance.now() < untilMs;);
    return read.call(this, path);
  });
  onTestFinished(() => slow.mockRestore());
  await sell({ n: 7, long: "x".repeat(40_000) });
  await app.jobs.idle();
  expect(till.received.filter(({ body }) => body.toString() === '{"n":7}')).toHaveLength(20);
  expect(rounds).toHaveLength(20);
  expect(new Set(rounds).size).toBe(20);
});
