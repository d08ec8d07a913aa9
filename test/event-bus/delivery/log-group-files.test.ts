import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { expect, test } from "vitest";

import type { DeliveryAttempt } from "../../../services/event-bus/delivery/connector.ts";
import { logGroupConnector, LogGroupFiles } from "../../../services/event-bus/delivery/log-group-files.ts";
import { parseArn } from "../../../services/kit/arn/arn.ts";
import { canMount, fillDisk, smallDisk } from "../../support/small-disk.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startHarness } from "../harness.ts";

const groupArn = (name: string): string => `arn:aws:logs:us-east-1:000000000000:log-group:${name}`;

const salesArn = parseArn(groupArn("sales")) ?? expect.unreachable("no ARN");

/** Writes of this process to files and sockets. */
const writesSoFar = async (): Promise<number> =>
  Number(/^syscw: ([0-9]+)$/m.exec(await readFile("/proc/self/io", "utf8"))?.[1]);

test("an event for a log group is a line of its file where no endpoint for log groups is configured", async () => {
  const { client, app, directory, deadLetters } = await startHarness();
  await client.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
  await client.putTargets({
    rule: "all",
    targets: [{ id: "t", arn: `${groupArn("/shop/sales")}:*`, inputPath: "$.detail" }],
  });
  for (const n of [1, 2])
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: `{\n "n": ${n}\n}` }] });
  await app.jobs.idle();
  const file = join(directory, "log-groups/000000000000/%2Fshop%2Fsales/events.log");
  const lines = (await readFile(file, "utf8")).split("\n");
  expect(lines.toSorted()).toEqual(["", '{ "n": 1 }', '{ "n": 2 }']);
  expect(await deadLetters()).toEqual([]);
});

test("the files of a log group are followed by new ones at their size, and the oldest are removed", async () => {
  const directory = await temporaryDirectory();
  const deliver = logGroupConnector(new LogGroupFiles(directory, { fileBytesMax: 10, filesMax: 3 }));
  const write = (input: string) =>
    deliver({ account: "000000000000", target: { arn: groupArn(".."), input } } as unknown as DeliveryAttempt);
  await Promise.all(["1111", "2222", "3333", "4444", "5555", "6666", "7777"].map(write));
  const group = join(directory, "000000000000/%2E%2E");
  expect((await readdir(group)).toSorted()).toEqual(["events.1.log", "events.2.log", "events.log"]);
  expect(await readFile(join(group, "events.log"), "utf8")).toBe("7777\n");
  expect(await readFile(join(group, "events.1.log"), "utf8")).toBe("5555\n6666\n");
  expect(await readFile(join(group, "events.2.log"), "utf8")).toBe("3333\n4444\n");
});

test("lines that come while others are written are written together, in their order", async () => {
  const directory = await temporaryDirectory();
  const groups = new LogGroupFiles(directory);
  const before = await writesSoFar();
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => groups.append(salesArn, "000000000000", [`${n}`])));
  expect((await writesSoFar()) - before).toBeLessThan(500);
  const written = await readFile(join(directory, "000000000000/sales/events.log"), "utf8");
  expect(written).toBe(Array.from({ length: 1_000 }, (_, n) => `${n}\n`).join(""));
});

test("lines that cannot be written fail, and those after them are written", async () => {
  const directory = await temporaryDirectory();
  const groups = new LogGroupFiles(directory);
  await writeFile(join(directory, "000000000000"), "");
  const outcomes = await Promise.allSettled([1, 2].map((n) => groups.append(salesArn, "000000000000", [`${n}`])));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await rm(join(directory, "000000000000"));
  await groups.append(salesArn, "000000000000", ["3"]);
  expect(await readFile(join(directory, "000000000000/sales/events.log"), "utf8")).toBe("3\n");
});

test.for([
  { before: '1\n{"ha', after: "1\n3\n", what: "after a whole line" },
  { before: '{"ha', after: "3\n", what: "alone in its file" },
  { before: `1\n${"é".repeat(100_000)}`, after: "1\n3\n", what: "longer than what is read at once" },
  { before: "1\n2\n", after: "1\n2\n3\n", what: "of no bytes" },
])("the beginning of a line that a crash left is removed: $what", async ({ before, after }) => {
  const directory = await temporaryDirectory();
  const file = join(directory, "000000000000/sales/events.log");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, before);
  await new LogGroupFiles(directory).append(salesArn, "000000000000", ["3"]);
  expect(await readFile(file, "utf8")).toBe(after);
});

test.runIf(canMount())("a line that a full disk cut off is whole once there is room", async () => {
  const directory = await smallDisk(1);
  const groups = new LogGroupFiles(directory);
  await groups.append(salesArn, "000000000000", ["first"]);
  const filling = await fillDisk(directory, 65_536);
  const long = "x".repeat(200_000);
  const file = join(directory, "000000000000/sales/events.log");
  await expect(groups.append(salesArn, "000000000000", [long])).rejects.toThrow("ENOSPC");
  const cut = await readFile(file, "utf8");
  expect(cut.length).toBeGreaterThan("first\n".length);
  await filling.remove();
  await groups.append(salesArn, "000000000000", [long]);
  expect(await readFile(file, "utf8")).toBe(`first\n${long}\n`);
});
