import type { EventSourceRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";

/** Milliseconds for which a source may be pending; then it counts as deleted by its partner. */
const pendingMsMax = 14 * 24 * 3_600_000;

/** The partner that a source belongs to: the second part of its name. */
export const partnerOf = (source: string): string => source.split("/")[1] ?? "";

/** The beginning of the names of a partner's sources. */
export const partnerPrefix = (partition: string, partner: string): string => `${partition}.partner/${partner}/`;

/** When a pending source is deleted, in milliseconds since 1970; undefined: it is not pending. */
export const expirationMs = ({ pendingSinceMs }: Pick<EventSourceRecord, "pendingSinceMs">): number | undefined =>
  pendingSinceMs === 0n ? undefined : Number(pendingSinceMs) + pendingMsMax;

/** The state of a source at an instant. */
export const stateOf = (
  source: Pick<EventSourceRecord, "pendingSinceMs" | "isDeleted">,
  nowMs: number,
): EventSourceState => {
  const endMs = expirationMs(source);
  if (source.isDeleted || (endMs !== undefined && endMs <= nowMs)) return EventSourceState.DELETED;
  return endMs === undefined ? EventSourceState.ACTIVE : EventSourceState.PENDING;
};
