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
  const members: [string, unknown][] = [
    ["id", event.id],
    [detailTypeName, event.detailType],
    ["source", event.source],
    ["account", event.account],
    ["time", eventTime(Number(event.timeMs))],
    ["region", event.region],
    ...(event.replayName === undefined ? [] : ([["replay-name", event.replayName]] as [string, unknown][])),
    ["resources", event.resources],
  ];
  return members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join();
};
