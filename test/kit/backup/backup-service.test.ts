import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { BackupService } from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import { backupRights, backupService } from "../../../services/kit/backup/backup-service.ts";
import { RecordFileReader } from "../../../services/kit/backup/record-file.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { defaultAccountId } from "../../../services/kit/identity/access-keys.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../../services/kit/identity/key-files.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { keyBytes } from "../../../services/kit/store/table.ts";
import { notes } from "../store/tables.ts";

const root = rootCaller(defaultAccountId);
const preauthorized: Caller = { ...root, isPreauthorized: true };

/** A process with three notes, one of which is damaged on request. */
const startProcess = async ({ isDamaged = false } = {}) => {
  const directory = await temporaryDirectory();
  const path = `${directory}/leveldb`;
  const filled = await openStore({ directory: path });
  for (const title of ["eggs", "flour", "milk"])
    await filled.transact((tx) => tx.put(notes, ["alice", title], { value: `${title}!` }));
  await filled.close();
  if (isDamaged) {
    const level = new Level<Buffer, Buffer>(path, { keyEncoding: "buffer", valueEncoding: "buffer" });
    await level.put(Buffer.from(keyBytes(notes, ["alice", "flour"])), Buffer.from("not a record"));
    await level.close();
  }
  const store = await openStore({ directory: path });
  let holds = 0;
  const holdContent = () => {
    holds += 1;
    return () => void (holds -= 1);
  };
  const keys = `${directory}/keys`;
  const tokenOf = async (issuer: string, caller: Caller): Promise<string> =>
    createMinter({ keyPair: await ensureKeyPair(keys, issuer), clock: systemClock }).mint(caller, "notes");
  const verifier = createVerifier({ publicKeys: keys, clock: systemClock, audience: "notes" });
  const server = await startServer({
    name: "notes",
    listen: { host: "127.0.0.1", port: 0 },
    services: [backupService({ store, clock: systemClock, holdContent })],
    authenticate: bearerAuthenticate(verifier, { gateway: { anyCaller: true }, ...backupRights }),
    log: silentLogger,
  });
  const transport = createTransport({ address: server.url, engine: "connect" });
  onTestFinished(async () => {
    await transport.close();
    await server.stop(0);
    await store.close();
  });
  const client = createClient(BackupService, transport);
  const begin = async (issuer: string, caller: Caller) => {
    const ending = new AbortController();
    const headers = { authorization: `Bearer ${await tokenOf(issuer, caller)}` };
    return { ending, messages: client.exportRecords({}, { signal: ending.signal, headers })[Symbol.asyncIterator]() };
  };
  return { begin, store, holds: () => holds };
};

type Begun = Awaited<ReturnType<Awaited<ReturnType<typeof startProcess>>["begin"]>>;

/** Reads until the records are complete; returns their texts, and the keys of damaged ones. */
const readRecords = async ({ messages }: Begun) => {
  const reader = new RecordFileReader();
  const texts: string[] = [];
  for (;;) {
    const next = await messages.next();
    if (next.done === true) throw new Error("the export ended");
    for (const { payload } of reader.add(next.value.chunk)) texts.push(Buffer.from(payload.subarray(2)).toString());
    if (next.value.isComplete) return { texts, count: reader.end(), damaged: next.value.damagedKeys };
  }
};

test("a backup gets all records, and content is held until its call ends", async () => {
  const { begin, holds } = await startProcess();
  const call = await begin("backup", preauthorized);
  expect(await readRecords(call)).toEqual({ texts: ["eggs!", "flour!", "milk!"], count: 3, damaged: [] });
  const heartbeat = await call.messages.next();
  expect(heartbeat.value).toMatchObject({ isComplete: true, chunk: new Uint8Array() });
  expect(holds()).toBe(1);
  call.ending.abort();
  await eventually(() => holds() === 0, "content is released");
});

test("the export is of one instant", async () => {
  const { begin, store } = await startProcess();
  const call = await begin("backup", preauthorized);
  const first = await call.messages.next();
  await store.transact((tx) => tx.put(notes, ["alice", "yeast"], { value: "yeast!" }));
  const reader = new RecordFileReader();
  const texts = [...reader.add(first.value?.chunk ?? new Uint8Array())].map(({ payload }) => payload.length);
  call.ending.abort();
  expect([texts, reader.end()]).toEqual([[7, 8, 7], 3]);
});

test("a damaged record is left out and named", async () => {
  const { begin } = await startProcess({ isDamaged: true });
  const call = await begin("backup", preauthorized);
  const { texts, damaged } = await readRecords(call);
  call.ending.abort();
  expect([texts, damaged]).toEqual([["eggs!", "milk!"], [keyBytes(notes, ["alice", "flour"])]]);
});

// issuer, whom it names, as a caller, refusal
test.each([
  ["backup", "a caller", root, Code.Unauthenticated],
  ["gateway", "a backup", preauthorized, Code.Unauthenticated],
  ["gateway", "a caller", root, Code.PermissionDenied],
  ["event-bus", "a backup", preauthorized, Code.Unauthenticated],
] as const)("an export is refused with a token by which %s names %s", async (issuer, _named, caller, code) => {
  const { begin, holds } = await startProcess();
  const call = await begin(issuer, caller);
  const refused: unknown = await call.messages.next().catch((error: unknown) => error);
  expect([refused instanceof ConnectError && refused.code, holds()]).toEqual([code, 0]);
});
