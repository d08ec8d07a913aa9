import type { BenchRow } from "../bench.ts";

/** The detail of the event that the benches of the event bus put. */
export const detail = JSON.stringify({
  order: "4711-0815",
  kind: "sale",
  amount: 250,
  customer: { name: "Ann Lee", mail: "ann.lee@example.com", since: "2024-05-01" },
  lines: [
    { article: "tea", count: 3, price: 4.5 },
    { article: "cup", count: 1, price: 12 },
  ],
});
/** An entry of PutEvents. */
export const entry = { source: "shop.7", detailType: "Sale", detail };

/** A row whose ratio is the value over the baseline. */
export const row = (
  what: string,
  unit: string,
  value: number,
  baseline: BenchRow["baseline"],
  target?: number,
): BenchRow => ({
  what,
  value,
  unit,
  baseline,
  ratio: value / baseline.value,
  ...(target === undefined ? {} : { target }),
});
