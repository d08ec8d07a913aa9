import { flattenEvent } from "../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../services/event-bus/pattern/parse.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { detail, entry, row } from "./peers/sale.ts";
import { bestInTurns, rateSync } from "./peers/turns.ts";

const roundMs = 200;

/** Patterns of one kind; the one with the number 0 matches the sale, no other does. */
const kinds: Readonly<Record<string, (n: number) => object>> = {
  exact: (n) => ({ source: [`shop.${n + 7}`], detail: { kind: ["sale"], amount: [{ numeric: [">", 100] }] } }),
  prefix: (n) => ({ detail: { order: [{ prefix: n === 0 ? "4711-" : `order-${n}-` }] } }),
  wildcard: (n) => ({ detail: { order: [{ wildcard: n === 0 ? "4711-*5" : `${n}x*-*5` }] } }),
  numeric: (n) => ({ detail: { amount: [{ numeric: n === 0 ? [">", 100] : [">", 1_000 + n] }] } }),
  "anything-but": (n) => ({ detail: { kind: [{ "anything-but": n === 0 ? "gift" : ["sale", `gift-${n}`] }] } }),
  $or: (n) => ({ $or: [{ source: [`shop.${n + 7}`] }, { detail: { order: [`order-${n}`] } }] }),
};

/** Events looked at by so many rules of a kind, one of which matches, against merely reading the detail. */
const matched = async (kind: string, count: number): Promise<BenchRow> => {
  const { source, detailType } = entry;
  const envelope = { id: "e", detailType, source, account: "0", time: "t", region: "r", resources: [] };
  const matcher = new Matcher<number>().with(
    Array.from({ length: count }, (_, each) => ({
      name: `rule-${each}`,
      pattern: parsePattern(JSON.stringify(kinds[kind]?.(each))),
      item: each,
    })),
  );
  const { own, parse } = await bestInTurns(3, {
    parse: () => rateSync(roundMs, () => void JSON.parse(detail)),
    own: () =>
      rateSync(roundMs, () => {
        const found = matcher.match(flattenEvent(envelope, detail, matcher.wants));
        if (found.length !== 1) throw new Error(`${found.length} rules match`);
      }),
  });
  const name = `events matched, ${kind} rules: ${count.toLocaleString("en-US")}`;
  return row(name, "events/s", own, { what: "JSON.parse of the detail/s", value: parse });
};

/** The matching of events with the rules of a bus. */
export const group: BenchGroup = {
  name: "matching",
  run: async () => {
    const rows: BenchRow[] = [];
    for (const kind of Object.keys(kinds))
      for (const count of [1, 1_000, 10_000, 100_000]) rows.push(await matched(kind, count));
    return rows;
  },
};
