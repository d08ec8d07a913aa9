import { cp } from "node:fs/promises";
import { join } from "node:path";

import { Level } from "level";

import type { Logger } from "../../services/kit/log/log.ts";
import { sealRecord } from "../../services/kit/store/record.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { openStore } from "../../services/kit/store/store.ts";
import type { KeyTuple, Table } from "../../services/kit/store/table.ts";
import { keyBytes, pretty } from "../../services/kit/store/table.ts";
import { capturingLogger } from "./capturing-logger.ts";
import { refusalOf } from "./refusal.ts";
import { isSoak } from "./rounds.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

/**
 * How a record is damaged. `bit`: one bit is another one, which its checksum shows. The others are records whose
 * checksum holds, as a program with a fault would write them: empty, the first half, and random bytes.
 */
export type DamageKind = "bit" | "empty" | "half" | "garbage";

/** What each record is damaged with: all under `npm run soak`, otherwise one bit and one of the others in turn. */
const kindsOf = (index: number): readonly DamageKind[] => {
  const others = ["empty", "half", "garbage"] as const;
  return ["bit", ...(isSoak ? others : [others[index % others.length] as DamageKind])];
};

/** A call by its name, and what it was answered with: `answered`, or the reason of its refusal. */
export type Outcome = readonly [call: string, outcome: string];

/** A service that runs on a directory. */
export interface CampaignService {
  /** Makes the calls of one of the tenants, one after the other. */
  call(tenant: "own" | "other"): Promise<readonly Outcome[]>;
  /** Lets a second pass, and the background work of it end. */
  passSecond(): Promise<void>;
  /** What the background work has not done for the other tenant. */
  undone?(): readonly string[];
  stop(): Promise<void>;
}

export interface Campaign {
  readonly layout: readonly unknown[];
  /** Tables in which the calls may leave no record; one that cannot be read is put there. Unset: none. */
  readonly mayBeEmpty?: readonly string[];
  /**
   * Fills a new directory with records of the tenant `own`, has them noted, adds those of the other, and returns the
   * directory when the service was stopped.
   */
  fill(noteOwn: (store: Pick<Store, "read">) => Promise<void>): Promise<string>;
  start(directory: string, log: Logger): Promise<CampaignService>;
}

export interface CampaignReport {
  /** Records that were damaged, each time on a copy of all. */
  readonly cases: number;
  readonly problems: readonly string[];
}

/** Seconds that pass after each damage, and the most often that one line may be logged of one job meanwhile. */
const seconds = 12;
const repeatedMax = 8;

const dataLoss = "DATA_LOSS";

/** Makes calls one after the other. */
export const outcomesOf = async (calls: Readonly<Record<string, () => Promise<unknown>>>): Promise<Outcome[]> => {
  const outcomes: Outcome[] = [];
  for (const [name, call] of Object.entries(calls)) outcomes.push([name, await refusalOf(call())]);
  return outcomes;
};

/**
 * Damages one record of each table at a time and starts the service on it. It must start, answer the other tenant as
 * before, and each own call rightly or with a declared refusal, which is logged with the key of the record.
 */
export const runCampaign = async (campaign: Campaign): Promise<CampaignReport> => {
  const own = new Set<string>();
  const filled = await campaign.fill(async (store) => {
    for (const table of campaign.layout as readonly Table[])
      for (const { key } of await store.read((reader) => reader.list(table, { limit: 1_000 })))
        own.add(pretty(table, key));
  });
  const damages = await chooseRecords(campaign, own, filled);
  const { mayBeEmpty = [] } = campaign;
  const problems = damages.empty.filter((name) => !mayBeEmpty.includes(name)).map((name) => `${name} has no record`);
  let cases = 0;
  for (const [index, { table, key }] of damages.chosen.entries())
    for (const kind of kindsOf(index)) {
      const directory = await temporaryDirectory();
      await cp(filled, directory, { recursive: true });
      if (!(await damage(directory, table, key, kind))) continue;
      cases += 1;
      const found = await runCase(campaign, directory, table, key, kind);
      problems.push(...found.map((problem) => `${kind} ${pretty(table, key)}: ${problem}`));
    }
  return { cases, problems };
};

/** A record of each table, of the own tenant where it has one. */
const chooseRecords = async ({ layout }: Campaign, own: ReadonlySet<string>, directory: string) => {
  const store: Store = await openStore({ directory: join(directory, "leveldb"), sync: false });
  const chosen: { readonly table: Table; readonly key: KeyTuple }[] = [];
  const empty: string[] = [];
  for (const table of layout as readonly Table[]) {
    const all = await store.read((reader) => reader.list(table, { limit: 1_000 }));
    const found = all.find(({ key }) => own.has(pretty(table, key))) ?? all[0];
    if (found === undefined) empty.push(table.name);
    chosen.push({ table, key: found?.key ?? anyKey(table) });
  }
  await store.close();
  return { chosen, empty };
};

const anyKey = ({ parts }: Table): KeyTuple =>
  parts.map(({ kind }) => {
    if (kind === "text") return "a";
    return kind === "bytes" ? new Uint8Array(16) : 1;
  });

/** False: the record has no bytes that could be damaged so. */
const damage = async (directory: string, table: Table, key: KeyTuple, kind: DamageKind): Promise<boolean> => {
  const level = new Level<Buffer, Buffer>(join(directory, "leveldb"), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  try {
    const at = Buffer.from(keyBytes(table, key));
    const record = await level.get(at);
    if (record === undefined) {
      if (kind === "bit") await level.put(at, Buffer.from("no record"));
      return kind === "bit";
    }
    const payload = record.subarray(5);
    if (kind !== "bit" && payload.length === 0) return false;
    await level.put(at, damaged(kind, at, record, payload));
    return true;
  } finally {
    await level.close();
  }
};

const damaged = (kind: DamageKind, key: Buffer, record: Buffer, payload: Buffer): Buffer => {
  switch (kind) {
    case "bit":
      return Buffer.from([...record.subarray(0, -1), (record.at(-1) as number) ^ 1]);
    case "empty":
      return sealRecord(key, Buffer.alloc(0));
    case "half":
      return sealRecord(key, payload.subarray(0, payload.length >> 1));
    default:
      return sealRecord(key, noise(payload.length));
  }
};

/** The same bytes each time, which look random. */
const noise = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  let state = length + 1;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[index] = state >>> 16;
  }
  return bytes;
};

const runCase = async (
  campaign: Campaign,
  directory: string,
  table: Table,
  key: KeyTuple,
  kind: DamageKind,
): Promise<string[]> => {
  const { log, lines } = capturingLogger("warn");
  const problems: string[] = [];
  let service: CampaignService;
  try {
    service = await campaign.start(directory, log);
  } catch (error) {
    return [`it does not start: ${String(error)}`];
  }
  const other = await service.call("other");
  for (const [call, outcome] of other)
    if (outcome !== "answered") problems.push(`the other tenant's ${call}: ${outcome}`);
  const own = await service.call("own");
  const isLost = own.some(([, outcome]) => outcome === dataLoss);
  for (const [call, outcome] of own) {
    const isDeclared = outcome === "answered" || outcome === dataLoss || !outcome.startsWith("INTERNAL");
    // A record whose checksum holds may be refused by any code that reads it.
    if (!isDeclared && kind === "bit") problems.push(`the own ${call}: ${outcome}`);
  }
  const hex = Buffer.from(keyBytes(table, key)).toString("hex");
  const text = JSON.stringify(lines);
  if (isLost && kind === "bit" && !text.includes(hex)) problems.push("its loss is not logged with its key");
  const before = lines.length;
  for (let second = 0; second < seconds; second += 1) await service.passSecond();
  const counts = new Map<string, number>();
  for (const { msg, id, job, event, rule, target } of lines.slice(before)) {
    const line = JSON.stringify([msg, id, job, event, rule, target]);
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  for (const [line, count] of counts) if (count > repeatedMax) problems.push(`${count} times in a short time: ${line}`);
  problems.push(...(service.undone?.() ?? []));
  await service.stop();
  return problems;
};
