import { createHash, randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CreateDomainCommand, GetDomainCommand } from "@aws-sdk/client-customer-profiles";
import { DescribeRuleCommand, PutRuleCommand } from "@aws-sdk/client-eventbridge";
import { CreateUserCommand, IAMClient, ListUsersCommand } from "@aws-sdk/client-iam";
import { CreateEnvironmentCommand, ListEnvironmentsCommand } from "@aws-sdk/client-migration-hub-refactor-spaces";
import { CreateBucketCommand, DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import type { Ended } from "../support/run-program.ts";
import { runProgram } from "../support/run-program.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { canTrace, stepsOf, traceCalls } from "../kit/store/traced-disk.ts";

let home: string;
let dataDir: string;
let system: System;

const mebibyte = 1024 * 1024;
/** Two that are stored in the database, the others in files. */
const objects = new Map([
  ["empty", Buffer.alloc(0)],
  ["small", Buffer.from("two litres")],
  ["page", randomBytes(300_000)],
  ...Array.from({ length: 24 }, (_, index) => [`photos/${index}`, randomBytes(mebibyte)] as const),
]);
const files = 25;

const limitMs = 300_000;
const run = (script: string, ...argv: readonly string[]): Promise<Ended> =>
  runProgram(`services/launcher/${script}.ts`, argv, { limitMs });
const backup = (directory: string, ...flags: readonly string[]): Promise<Ended> =>
  run("backup", directory, "--data-dir", dataDir, ...flags);
const restore = (directory: string, to: string): Promise<Ended> => run("restore", directory, to);
const verify = (directory: string): Promise<Ended> => run("verify", directory);

/** The content files of all snapshots in a directory of backups. */
const contentOf = (directory: string): Promise<string[]> => filesIn(join(directory, "content")).catch(() => []);

const filesIn = async (directory: string): Promise<string[]> => {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

/** Turns the lowest bit of the middle byte of a file. */
const flip = async (path: string): Promise<void> => {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, Math.floor(size / 2));
    byte[0] = (byte[0] ?? 0) ^ 1;
    await file.write(byte, 0, 1, Math.floor(size / 2));
  } finally {
    await file.close();
  }
};

const snapshotsOf = async (directory: string): Promise<string[]> =>
  (await readdir(join(directory, "snapshots")).catch((): string[] => [])).toSorted();

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

const sumsOf = async ({ clients }: System): Promise<Record<string, string>> => {
  const sums: Record<string, string> = {};
  for (const key of objects.keys()) {
    const { Body } = await clients.objectStorage.send(new GetObjectCommand({ Bucket: "shop", Key: key }));
    sums[key] = sha256((await Body?.transformToByteArray()) ?? new Uint8Array());
  }
  return sums;
};

const iamOf = ({ installation, accessKeyId, secretAccessKey, region }: System): IAMClient =>
  new IAMClient({ endpoint: installation.gatewayUrl, region, credentials: { accessKeyId, secretAccessKey } });

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "quartet-backup-"));
  dataDir = join(home, "data");
  await mkdir(dataDir);
  system = await startSystem(dataDir, "silent");
  const { objectStorage, eventBus, customerProfile, workspace } = system.clients;
  await objectStorage.send(new CreateBucketCommand({ Bucket: "shop" }));
  for (const [Key, Body] of objects) await objectStorage.send(new PutObjectCommand({ Bucket: "shop", Key, Body }));
  await eventBus.send(new PutRuleCommand({ Name: "orders", EventPattern: '{"source":["shop"]}' }));
  await customerProfile.send(new CreateDomainCommand({ DomainName: "shop", DefaultExpirationDays: 30 }));
  await workspace.send(new CreateEnvironmentCommand({ Name: "shop", NetworkFabricType: "NONE" }));
  const iam = iamOf(system);
  await iam.send(new CreateUserCommand({ UserName: "alice" }));
  iam.destroy();
});

afterAll(async () => {
  await system.stop();
  await rm(home, { recursive: true, force: true });
});

/** Puts and deletes objects until it is stopped. Rejects if one of these fails. */
const underLoad = async <T>(work: () => Promise<T>): Promise<T> => {
  let isOver = false;
  const { objectStorage } = system.clients;
  const load = async (): Promise<void> => {
    await objectStorage.send(new CreateBucketCommand({ Bucket: "busy" })).catch(() => undefined);
    for (let round = 0; !isOver; round += 1) {
      const object = { Bucket: "busy", Key: `key ${round % 7}` };
      await objectStorage.send(new PutObjectCommand({ ...object, Body: randomBytes(200_000) }));
      if (round % 3 === 0) await objectStorage.send(new DeleteObjectCommand(object));
    }
  };
  const loading = load();
  try {
    return await work();
  } finally {
    isOver = true;
    await loading;
  }
};

/** A backup that was taken under load, and what was restored from it. */
let backups: string;
let restoredDir: string;
let taken: Ended;

beforeAll(async () => {
  backups = join(home, "backups");
  restoredDir = join(home, "restored");
  taken = await underLoad(() => backup(backups));
}, limitMs);

test(
  "a backup that is taken under load is restored to an installation that serves the same",
  { timeout: limitMs },
  async () => {
    expect([taken.status, taken.errors]).toEqual([0, ""]);
    const verified = await verify(backups);
    expect([verified.status, verified.output.trim().split("\n").at(-1)]).toEqual([0, `${backups} is whole`]);
    expect(await restore(backups, restoredDir)).toMatchObject({ status: 0, errors: "" });
    const restored = await startSystem(restoredDir, "silent");
    onTestFinished(() => restored.stop());
    const expected = Object.fromEntries([...objects].map(([key, content]) => [key, sha256(content)]));
    expect(await sumsOf(restored)).toEqual(expected);
    expect(restored.accessKeyId).toBe(system.accessKeyId);
    const { eventBus, customerProfile, workspace } = restored.clients;
    expect(await eventBus.send(new DescribeRuleCommand({ Name: "orders" }))).toMatchObject({
      EventPattern: '{"source":["shop"]}',
    });
    expect(await customerProfile.send(new GetDomainCommand({ DomainName: "shop" }))).toMatchObject({
      DefaultExpirationDays: 30,
    });
    expect(await workspace.send(new ListEnvironmentsCommand({}))).toMatchObject({
      EnvironmentSummaryList: [{ Name: "shop" }],
    });
    const iam = iamOf(restored);
    onTestFinished(() => iam.destroy());
    expect(await iam.send(new ListUsersCommand({}))).toMatchObject({ Users: [{ UserName: "alice" }] });
  },
);

test.skipIf(!canTrace())("what was restored is durable when processes may start there (through strace)", async () => {
  const to = join(home, "new", "data");
  const calls = traceCalls([process.execPath, "services/launcher/restore.ts", backups, to], join(home, "calls"));
  const steps = stepsOf(calls).map(({ name, path }) => `${name} ${path}`);
  const ready = steps.lastIndexOf(`rename ${join(to, "customer-profile", "format.new")}`);
  expect(steps[ready + 1]).toBe(`fsync ${join(to, "customer-profile")}`);
  const earlier = new Set(steps.slice(0, ready));
  const needed = ["customer-profile/master.keys", "gateway/credentials.json", ".", "..", "../.."];
  expect(needed.filter((path) => !earlier.has(`fsync ${join(to, path)}`))).toEqual([]);
});

test(
  "verify finds what is missing in a data directory, and refuses one that is in use",
  { timeout: limitMs },
  async () => {
    const inUse = await verify(dataDir);
    expect([inUse.status, inUse.errors]).toEqual([
      2,
      "verify: customer-profile: its database is in use by another process; stop that one, or set another dataDir\n",
    ]);
    expect(await verify(restoredDir)).toMatchObject({ status: 0, errors: "" });
    const blobs = await filesIn(join(restoredDir, "object-storage", "blobs"));
    await rm(blobs[0] ?? "");
    await flip(blobs[1] ?? "");
    const { status, output } = await verify(restoredDir);
    expect([status, output.trim().split("\n").at(-1)]).toEqual([1, `${restoredDir} has 2 damages`]);
  },
);

test(
  "verify finds a bit that has changed in any file of a backup, and restore refuses the snapshot",
  { timeout: limitMs },
  async () => {
    const [name = ""] = await snapshotsOf(backups);
    const snapshot = join(backups, "snapshots", name);
    const [blob = ""] = await contentOf(backups);
    const found: (readonly [string, number])[] = [];
    for (const path of [...(await filesIn(snapshot)), blob]) {
      if ((await stat(path)).size === 0) continue;
      await flip(path);
      const { status, output } = await verify(backups);
      const isNamed = path.endsWith("SHA256SUMS") || output.includes(path.slice(path.lastIndexOf("/") + 1));
      found.push([isNamed ? "named" : path, status]);
      await flip(path);
    }
    expect(found.length).toBeGreaterThan(10);
    expect(found.filter(([path, status]) => path !== "named" || status !== 1)).toEqual([]);

    await flip(join(snapshot, "event-bus.records"));
    const refused = await restore(backups, join(home, "refused"));
    await flip(join(snapshot, "event-bus.records"));
    expect([refused.status, refused.errors]).toEqual([
      2,
      `restore: it is damaged: ${snapshot}: event-bus.records: its SHA-256 is another one\n`,
    ]);
  },
);

test(
  "a backup that is killed leaves no snapshot, and the next one goes on with what was copied",
  { timeout: limitMs },
  async () => {
    const killed = join(home, "killed");
    const child = spawn(process.execPath, ["services/launcher/backup.ts", killed, "--data-dir", dataDir], {
      stdio: "ignore",
    });
    const ended = once(child, "close");
    await eventually(async () => (await contentOf(killed)).length >= 3, "some content is copied", 120_000);
    child.kill("SIGKILL");
    await ended;
    expect(await snapshotsOf(killed)).toEqual([]);
    const copied = new Map<string, number>();
    for (const path of await contentOf(killed)) copied.set(path, (await stat(path)).ino);

    expect(await backup(killed)).toMatchObject({ status: 0, errors: "" });
    expect(await snapshotsOf(killed)).toHaveLength(1);
    const kept = await Promise.all([...copied].map(async ([path, inode]) => (await stat(path)).ino === inode));
    expect(kept.every(Boolean)).toBe(true);
    expect((await readdir(killed)).toSorted()).toEqual(["content", "snapshots"]);
    expect((await verify(killed)).status).toBe(0);
  },
);

test(
  "content is copied once however often a backup runs, and removed with the last snapshot that has it",
  { timeout: limitMs },
  async () => {
    const repeated = join(home, "repeated");
    const { objectStorage } = system.clients;
    await objectStorage.send(new CreateBucketCommand({ Bucket: "passing" }));
    await objectStorage.send(new PutObjectCommand({ Bucket: "passing", Key: "a", Body: randomBytes(mebibyte) }));
    await backup(repeated, "--link", "--without-secrets");
    const first = await contentOf(repeated);
    const links = await Promise.all(first.map(async (path) => (await stat(path)).nlink));
    expect(links.every((count) => count === 2)).toBe(true);
    expect(links.length).toBeGreaterThan(files);
    const [name = ""] = await snapshotsOf(repeated);
    expect((await readdir(join(repeated, "snapshots", name))).filter((file) => /keys|credentials/.test(file))).toEqual(
      [],
    );

    await objectStorage.send(new DeleteObjectCommand({ Bucket: "passing", Key: "a" }));
    const second = await backup(repeated);
    expect(second.output).toMatch(/files \(\S+ MiB\), of which 0 are new\n$/);
    expect((await contentOf(repeated)).toSorted()).toEqual(first.toSorted());
    expect(await snapshotsOf(repeated)).toHaveLength(2);

    const pruned = await backup(repeated, "--keep", "2");
    expect(pruned.output).toMatch(/1 older snapshots and 1 files removed\n$/);
    expect(await contentOf(repeated)).toHaveLength(first.length - 1);
    expect((await verify(repeated)).status).toBe(0);
  },
);

test("what cannot be done is refused in one line", { timeout: limitMs }, async () => {
  const empty = await temporaryDirectory();
  const full = await temporaryDirectory();
  await writeFile(join(full, "notes.txt"), "mine");
  const busy = join(await temporaryDirectory(), "busy");
  await mkdir(busy);
  await writeFile(join(busy, "lock"), "1 another-host\n");
  const rows = [
    [await backup(empty, "--keep", "0"), "backup: --keep takes a number from 1 to 10000\n"],
    [
      await backup(busy),
      `backup: process 1 on another-host works in this directory; if it does not, remove ${busy}/lock\n`,
    ],
    [await restore(empty, join(empty, "restored")), `restore: ${empty} has no snapshot\n`],
    [await restore(backups, full), `restore: ${full} is not empty\n`],
    [await verify(full), `verify: ${full} is neither a directory of backups nor a data directory\n`],
    [await run("restore", backups), "restore: it needs DIR and DATADIR; --help says more\n"],
  ] as const;
  expect(rows.map(([{ status, errors }]) => [status, errors])).toEqual(rows.map(([, refusal]) => [2, refusal]));
  const idle = await run("backup", await temporaryDirectory(), "--data-dir", await temporaryDirectory());
  expect([idle.status, idle.errors.startsWith("backup: customer-profile: ")]).toEqual([2, true]);
});
