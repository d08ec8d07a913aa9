import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Envelope } from "../pattern/flatten.ts";

/** An instant as events carry it, without fractions: `2026-01-02T03:04:05Z`. */
export const eventTime = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 19)}Z`;

/** The fields around the detail, as patterns see them. */
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

/** The whole event as targets get it. The detail keeps its spelling. */
export const eventJson = (event: EventRecord): string =>
  `{"version":"0",${headJson(event, "detail-type")},"detail":${event.detail.trim()}}`;

/** The event without its detail, as templates name it `aws.events.event`. */
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
