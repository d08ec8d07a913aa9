import type { Metrics } from "../../../services/kit/metrics/metrics.ts";

/** The lines of a page without comments, histograms' buckets and sums, sorted. */
export const samplesOf = (page: string): string[] =>
  page
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !/_(bucket|sum)(\{| )/.test(line))
    .toSorted();

/** The same of what metrics show now. */
export const samplesNow = async (metrics: Metrics): Promise<string[]> => samplesOf((await metrics.page()).body);
