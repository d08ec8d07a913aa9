import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { AuditFiles } from "../../services/kit/audit/audit-log.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { runProgram } from "../support/run-program.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const verify = (...files: string[]) => runProgram("services/launcher/audit.ts", ["verify", ...files]);

test("names the first line that was changed, and else how far the chain reaches", async () => {
  const directory = await temporaryDirectory();
  const audit = new AuditFiles({
    directory,
    fileBytesMax: 1_000_000,
    filesMax: 2,
    clock: new FakeClock(),
    log: silentLogger,
  });
  const decision = { principal: "anonymous", method: "PutObject", action: "s3:PutObject", reason: "no-allow" };
  for (const resource of ["a", "b", "c"]) audit.record({ requestId: "r", ...decision, resource, decision: "refused" });
  audit.close();
  const path = join(directory, "audit-0000000000000001.jsonl");

  const { status, output } = await verify(path);
  expect([status, output]).toEqual([
    0,
    expect.stringMatching(/^3 lines in an unbroken chain, numbers 1 to 3, last digest [0-9a-f]{64}\n$/),
  ]);
  await writeFile(path, (await readFile(path, "utf8")).replace('"resource":"b"', '"resource":"z"'));
  expect(await verify(path)).toEqual({
    status: 1,
    output: `${path}:2 breaks the chain: it was changed: its digest is not that of its text\n`,
    errors: "",
  });
});

test("verifies the logs of all processes where no files are named", async () => {
  const dataDir = await temporaryDirectory();
  const verifyAll = () => verify(`--data-dir=${dataDir}`);
  expect(await verifyAll()).toEqual({ status: 2, output: "", errors: `audit: ${dataDir} has no audit logs\n` });
  for (const name of ["gateway", "event-bus"]) {
    const directory = join(dataDir, name, "audit");
    await mkdir(directory, { recursive: true });
    const files = { fileBytesMax: 1_000_000, filesMax: 2, clock: new FakeClock(), log: silentLogger };
    const audit = new AuditFiles({ directory, ...files });
    const decision = { principal: "anonymous", method: "PutRule", action: "events:PutRule", reason: "no-allow" };
    for (const resource of ["a", "b"]) audit.record({ requestId: "r", ...decision, resource, decision: "refused" });
    audit.close();
  }
  const whole = await verifyAll();
  expect([whole.status, whole.output.replaceAll(/[0-9a-f]{64}/g, "#")]).toEqual([
    0,
    "event-bus: 2 lines in an unbroken chain, numbers 1 to 2, last digest #\n" +
      "gateway: 2 lines in an unbroken chain, numbers 1 to 2, last digest #\n",
  ]);
  const path = join(dataDir, "event-bus", "audit", "audit-0000000000000001.jsonl");
  await writeFile(path, (await readFile(path, "utf8")).replace('"resource":"b"', '"resource":"z"'));
  const broken = await verifyAll();
  expect([broken.status, broken.output.split("\n")[0]]).toEqual([
    1,
    `event-bus: ${path}:2 breaks the chain: it was changed: its digest is not that of its text`,
  ]);
});

test("refuses files that cannot be read, and other commands", async () => {
  const directory = await temporaryDirectory();
  const missing = await verify(join(directory, "none.jsonl"));
  expect([missing.status, missing.errors]).toEqual([
    2,
    expect.stringMatching(/^audit: the files cannot be read: ENOENT/),
  ]);
  const { status, errors } = await runProgram("services/launcher/audit.ts", ["show"]);
  expect([status, errors]).toEqual([2, "audit: the command is verify; --help says more\n"]);
});
