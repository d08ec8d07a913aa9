import type { FlowRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { OperatorPage } from "../../../kit/server/operator-pages.ts";
import type { Store } from "../../../kit/store/store.ts";
import { idBytes, idText } from "../../domain/identifier.ts";
import { listFlows } from "../../store/flow.ts";
import { shownCounts } from "./flow-progress.ts";

const entriesMax = 1_000;

/**
 * The flows of integrations, in parts of up to `limit` entries (1,000): `entries` with `account`, `domain`, `uri` and
 * `state` (RUNNING, STUCK, SCHEDULED or OVER), what the run and the last one have read, `problem`, and the instants;
 * and `next`, present while there are more, with which `?after=` goes on.
 */
export const flowsPage =
  (store: Pick<Store, "read">): OperatorPage =>
  async (query) => {
    const limit = Number(query.get("limit") ?? entriesMax);
    if (!Number.isInteger(limit) || limit < 1 || limit > entriesMax)
      throw new RangeError(`limit is a whole number from 1 to ${entriesMax}.`);
    const [, domain = "", uri = ""] = /^([0-9a-f]{32})\/(.+)$/s.exec(query.get("after") ?? "") ?? [];
    const after = domain === "" ? undefined : ([idBytes(domain), uri] as const);
    const found = await store.read((reader) => listFlows(reader, after, limit + 1));
    const shown = found.slice(0, limit);
    const last = shown.at(-1)?.key;
    return {
      entries: shown.map(({ key, value }) => entryOf(key[1], value)),
      ...(found.length > limit && last !== undefined && { next: `${idText(last[0])}/${last[1]}` }),
    };
  };

const entryOf = (uri: string, { account, domainName, run, nextMs, last, problem }: FlowRecord) => ({
  account,
  domain: domainName,
  uri,
  state: problem !== "" ? "STUCK" : run !== undefined ? "RUNNING" : nextMs > 0n ? "SCHEDULED" : "OVER",
  ...(problem !== "" && { problem }),
  ...(run !== undefined && { run: { startedTime: timeOf(run.startedMs), ...shownCounts(run.counts) } }),
  ...(run === undefined && nextMs > 0n && { nextTime: timeOf(nextMs) }),
  ...(last !== undefined && {
    last: {
      startedTime: timeOf(last.startedMs),
      endedTime: timeOf(last.endedMs),
      ...shownCounts(last.counts),
      ...(last.problem !== "" && { problem: last.problem }),
    },
  }),
});

const timeOf = (ms: bigint): string => new Date(Number(ms)).toISOString();
