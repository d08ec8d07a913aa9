import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Envelope } from "../pattern/flatten.ts";

/** The last second that was formatted: each event is, for its matching and for each of its deliveries. */
let latest = { second: Number.NaN, text: "" };

/** An instant in the format of events, without fractions: `2026-01-02T03:04:05Z`. */
export const eventTime = (timeMs: number): string => {
  const second = Math.floor(timeMs / 1_000);
  if (second !== latest.second) latest = { second, text: `${new Date(second * 1_000).toISOString().slice(0, 19)}Z` };
  return latest.text;
};

/** The fields of an event except its detail, for matching. */
export const envelopeOf = (event: EventRecord): Envelope => ({
  id: event.id,
  detailType: event.detailType,
  source: event.source,
  account: event.account,
  time: eventTime(Number(event.timeMs)),
  region: event.region,
  resources: event.resources,
  ...(event.replayName === undefined ? {} : { replayName: event.replayName }),
});

/** The whole event as JSON, as targets receive it. The text of the detail is unchanged. */
export const eventJson = (event: EventRecord): string =>
  `{"version":"0",${headJson(event, "detail-type")},"detail":${event.detail.trim()}}`;

/** The event without its detail as JSON: the predefined variable `aws.events.event` of templates. */
export const eventWithoutDetailJson = (event: EventRecord): string =>
  `{"version":"0",${headJson(event, "detailType")}}`;

const headJson = (event: EventRecord, detailTypeName: string): string => {
  const { timeMs, replayName, resources } = event;
  const id = JSON.stringify(event.id);
  const detailType = JSON.stringify(event.detailType);
  const source = JSON.stringify(event.source);
  const account = JSON.stringify(event.account);
  const region = JSON.stringify(event.region);
  const replay = replayName === undefined ? "" : `"replay-name":${JSON.stringify(replayName)},`;
  return (
    `"id":${id},"${detailTypeName}":${detailType},"source":${source},"account":${account},` +
    `"time":"${eventTime(Number(timeMs))}","region":${region},${replay}"resources":${JSON.stringify(resources)}`
  );
};
