import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";

import { expect, onTestFinished, test } from "vitest";

import { GatheredWrites } from "../../../services/kit/wire/gathered-writes.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** The two ends of a connection over a unix socket. */
const connectionPair = async (): Promise<readonly [Socket, Socket]> => {
  const path = join(await temporaryDirectory(), "s.sock");
  const server = createServer();
  onTestFinished(() => void server.close());
  server.listen(path);
  await once(server, "listening");
  const near = connect({ path });
  const [far] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => {
    near.destroy();
    far.destroy();
  });
  return [near, far];
};

const sizes = [1, 5, 4_096, 65_536, 65_535, 3, 200_000, 65_537, 7, 30_000, 30_000, 30_000];

test("what was reserved arrives in its order, whatever its sizes, also when nobody reads at first", async () => {
  const [near, far] = await connectionPair();
  const output = new GatheredWrites(near);
  const sent: Buffer[] = [];
  for (let round = 0; round < 20; round += 1) {
    for (const [index, size] of sizes.entries()) {
      const bytes = Buffer.alloc(size, round * sizes.length + index);
      output.reserve(size).set(bytes);
      sent.push(bytes);
    }
    output.flush();
  }
  near.end();
  const received = await buffer(far);
  expect(received.equals(Buffer.concat(sent))).toBe(true);
});

test("what is reserved in one turn leaves in one write, after it", async () => {
  const [near] = await connectionPair();
  const written: number[] = [];
  near.write = (bytes: unknown) => written.push((bytes as Buffer).length) > 0;
  const output = new GatheredWrites(near);
  for (const size of [10, 20, 30]) output.reserve(size).fill(size);
  expect(written).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  output.reserve(40).fill(40);
  output.flush();
  expect(written).toEqual([60, 40]);
});

test("of unanswered pieces the first leaves at once, and further ones when most of all wait", async () => {
  const [near] = await connectionPair();
  const written: number[] = [];
  near.write = (bytes: unknown) => written.push((bytes as Buffer).length) > 0;
  const output = new GatheredWrites(near);
  for (let unanswered = 1; unanswered <= 8; unanswered += 1) {
    output.reserve(10).fill(1);
    output.flushIfMost(unanswered);
  }
  expect(written).toEqual([10, 20, 40]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(written).toEqual([10, 20, 40, 10]);
});

test("nothing is written to a connection that is closed", async () => {
  const [near] = await connectionPair();
  const output = new GatheredWrites(near);
  near.destroy();
  output.reserve(10).fill(1);
  expect(() => output.flush()).not.toThrow();
});
