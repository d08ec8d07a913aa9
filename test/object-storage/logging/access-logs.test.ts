import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";

import { RequestReportSchema } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { AccessLogs } from "../../../services/object-storage/logging/access-logs.ts";
import { encodeSubject } from "../../../services/object-storage/logging/subject.ts";
import { accessLogs } from "../../../services/object-storage/store/access-logs.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const openDatabase = async (): Promise<Store> => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  return store;
};

const open = (store: Store, waitingBytesMax?: number) => {
  const clock = new FakeClock(Date.UTC(2026, 0, 2));
  return new AccessLogs({ store, clock, ids: randomIds, log: capturingLogger().log, waitingBytesMax });
};

const calls = {
  photos: { bucketId: "b1", bucket: "photos", owner: "alice", operation: "REST.GET.OBJECT" },
  movies: { bucketId: "b2", bucket: "movies", owner: "alice", operation: "REST.GET.OBJECT" },
  plates: { bucketId: "b3", bucket: "plates", owner: "bobby", operation: "REST.GET.OBJECT" },
};
type BucketName = keyof typeof calls;

/** Of a call whose line has 200 bytes. */
const facts = (bucket: BucketName) => ({
  timeMs: 0n,
  requestId: "0".repeat(65),
  hostId: "",
  remoteAddress: "192.0.2.3",
  method: "GET",
  target: `/${bucket}`,
  protocol: "HTTP/1.1",
  status: 200,
  errorCode: "",
  bytesSent: 0n,
  totalMs: 7n,
  turnAroundMs: 0n,
  host: "",
  referer: "",
  userAgent: "",
  signatureVersion: "",
  authType: "",
  cipherSuite: "",
  tlsVersion: "",
});

const report = (logs: AccessLogs, bucket: BucketName, count: number) =>
  logs.store(
    Array.from({ length: count }, () =>
      create(RequestReportSchema, { ...facts(bucket), subject: encodeSubject([calls[bucket]]) }),
    ),
  );

const entriesOf = (store: Store, bucket: BucketName) =>
  store.read((reader) => reader.list(accessLogs, { prefix: [calls[bucket].bucketId], limit: 100 }));

/** The stored lines of a bucket. */
const linesOf = async (store: Store, bucket: BucketName): Promise<number> =>
  (await entriesOf(store, bucket)).reduce((sum, { value }) => sum + value.lines.length, 0);

const countsOf = async (store: Store): Promise<number[]> =>
  Promise.all((["photos", "movies", "plates"] as const).map((bucket) => linesOf(store, bucket)));

describe("lines of access logs that wait", () => {
  test("of one bucket leave room for those of other accounts, and of other buckets of its account", async () => {
    const store = await openDatabase();
    const logs = open(store, 2_000 * 200);
    for (const bucket of ["photos", "movies", "plates"] as const) await report(logs, bucket, 3_000);
    expect(await countsOf(store)).toEqual([1_000, 250, 375]);
    expect([logs.dropped, logs.waitingBytes]).toEqual([7_375, 325_000]);
  });

  test("of one bucket leave room in memory for those of others, until they are stored", async () => {
    const store = await openDatabase();
    const logs = open(store);
    for (let call = 0; call < 20_000; call += 1) logs.note(calls.photos, facts("photos"));
    logs.note(calls.plates, facts("plates"));
    await logs.flush();
    logs.note(calls.photos, facts("photos"));
    await logs.flush();
    expect([await countsOf(store), logs.dropped]).toEqual([[10_001, 0, 1], 10_000]);
  });

  test("have room again once they were delivered, and keep none if they cannot be stored", async () => {
    const store = await openDatabase();
    const logs = open(store, 2_000 * 200);
    await report(logs, "photos", 1_000);
    logs.beginDelivery();
    logs.leave(await entriesOf(store, "photos"));
    logs.endDelivery();
    expect(logs.waitingBytes).toBe(0);
    await store.close();
    await expect(report(logs, "photos", 1_000)).rejects.toThrow("closed");
    expect(logs.waitingBytes).toBe(0);
  });

  test("from before a restart count as well once a delivery has left them, each once", async () => {
    const store = await openDatabase();
    await report(open(store), "photos", 1_000);
    const logs = open(store, 2_000 * 200);
    await report(logs, "photos", 10);
    for (let delivery = 0; delivery < 2; delivery += 1) {
      logs.beginDelivery();
      logs.keep(await entriesOf(store, "photos"));
      logs.endDelivery();
    }
    expect(logs.waitingBytes).toBe(1_010 * 200);
    await report(logs, "photos", 10);
    expect(logs.dropped).toBe(10);
    logs.beginDelivery();
    logs.leave(await entriesOf(store, "photos"));
    expect(logs.waitingBytes).toBe(0);
  });
});
