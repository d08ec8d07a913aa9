/*
 * `npm run fuzz:gateway`: a torrent of requests to whole installations, each request on its way with others over many
 * connections. Fails with the request that is answered 500, gets no answer, ends a process or lets one grow beyond
 * 1 GiB. Seeds of findings are in the record; `--seed` repeats the requests, though not their times.
 *
 *   --seconds <n>     (60)
 *   --requests <n>    stops at so many answered requests, those of the record included (10,000,000)
 *   --seed <n>        (the time of day)
 *   --record <file>   where runs are added up
 */
import { parseArgs } from "node:util";

import { RunRecord } from "../../support/run-record.ts";
import { runTorrents } from "./torrents.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    requests: { type: "string", default: "10000000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    record: { type: "string" },
  },
});

const of = "gateway requests";
const record = new RunRecord(options.record);
const seed = Number(options.seed);
process.stdout.write(`seed ${seed}\n`);
const left = Number(options.requests) - record.count(of, "answered");
const started = performance.now();
const { tally, counts } = await runTorrents({ seed, requests: left, seconds: Number(options.seconds) });
const seconds = (performance.now() - started) / 1_000;
record.add({ of, seed, seconds, counts, findings: tally.problems });
for (const problem of tally.problems) process.stdout.write(`FINDING ${problem}\n`);
process.stdout.write(
  `${Math.round(tally.answered / seconds)}/s ${JSON.stringify(Object.fromEntries(tally.statuses))}\n`,
);
for (const line of record.sums()) process.stdout.write(`${line}\n`);
if (tally.problems.length > 0) process.exitCode = 1;
