import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { BytesValueSchema } from "@bufbuild/protobuf/wkt";

import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { Application } from "../../services/customer-profile/application.ts";
import { openCustomerProfile } from "../../services/customer-profile/open.ts";
import { handlers } from "../../services/customer-profile/service.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { openStore } from "../../services/kit/store/store.ts";
import { defineTable, integer } from "../../services/kit/store/table.ts";
import { silentLogger } from "../support/silent-logger.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";

const callers = 32;
const measuredMs = 2_000;
const bare = defineTable({ number: 60_000, name: "bare", key: [integer("number")], value: BytesValueSchema });
/** About what a profile's record, its key and its index entries hold together. */
const bareValue = new Uint8Array(800).fill(7);

/** Calls per second when so many callers each call again as soon as they were answered. */
const rate = async (call: (number: number) => Promise<unknown>): Promise<number> => {
  let calls = 0;
  const beginMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() - beginMs < measuredMs) await call(calls++);
    }),
  );
  return (calls / (performance.now() - beginMs)) * 1_000;
};

/** Calls an operation as the server does, without a network. */
const caller = (app: Application) => {
  const context = { app, caller: rootCaller("000000000000") };
  return <S extends DescMessage>(
    method: { readonly localName: string; readonly input: S },
    request: MessageInitShape<S>,
  ): Promise<unknown> => {
    const handler = (handlers as unknown as Record<string, (request: unknown, context: unknown) => Promise<unknown>>)[
      method.localName
    ];
    if (handler === undefined) throw new Error(`no handler is called ${method.localName}`);
    return handler(create(method.input, request), { ...context, method });
  };
};

const row = (what: string, value: number, baselineWhat: string, baseline: number): BenchRow => ({
  what,
  value,
  unit: "calls/s",
  baseline: { what: baselineWhat, value: baseline },
  ratio: value / baseline,
});

const measure = async (store: Store, directory: string): Promise<BenchRow[]> => {
  const parts = { store, directory, clock: systemClock, ids: randomIds, log: silentLogger, works: false };
  const { app } = await openCustomerProfile(parts);
  const call = caller(app);
  const { createDomain, createProfile, searchProfiles, putProfileObject } = CustomerProfileService.method;
  await call(createDomain, { domainName: "shop", defaultExpirationDays: 30 });
  const barePuts = await rate((number) => store.transact((tx) => tx.put(bare, [number], { value: bareValue })));
  const puts = await rate((number) =>
    call(createProfile, {
      domainName: "shop",
      accountNumber: `A-${number}`,
      firstName: "Ann",
      lastName: "Lee",
      phoneNumber: `+1555${String(number).padStart(7, "0")}`,
      emailAddress: `ann.${number}@example.com`,
    }),
  );
  const objects = await rate((number) =>
    call(putProfileObject, {
      domainName: "shop",
      objectTypeName: "Zendesk-users",
      object: JSON.stringify({ id: number, email: `z.${number}@example.com` }),
    }),
  );
  const bareReads = await rate((number) => store.read((reader) => reader.get(bare, [number % 1_000])));
  const searches = await rate((number) =>
    call(searchProfiles, { domainName: "shop", keyName: "_account", values: [`A-${number % 1_000}`] }),
  );
  return [
    row(`profiles made, ${callers} in flight, durable`, puts, "one record of 800 bytes, durable", barePuts),
    row(
      `objects put, each making a profile, ${callers} in flight`,
      objects,
      "one record of 800 bytes, durable",
      barePuts,
    ),
    row(`profiles found by key, ${callers} in flight`, searches, "one record read", bareReads),
  ];
};

/** Profiles and objects put and found, without a network, against bare transactions of the same store. */
export const group: BenchGroup = {
  name: "profiles",
  run: async () => {
    const directory = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    const store = await openStore({ directory: join(directory, "leveldb") });
    try {
      return await measure(store, directory);
    } finally {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
};
