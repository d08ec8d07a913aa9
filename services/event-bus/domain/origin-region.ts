/**
 * The region from which an event was sent to this one, as its trace header says; undefined for other events. It keeps
 * regions from sending an event on for ever, and is the region of the event.
 */
export const originRegion = (traceHeader: string | undefined): string | undefined =>
  /(?:^|;)Origin=([a-z0-9-]+)/.exec(traceHeader ?? "")?.[1];

/** The trace header of an event that is sent from a region to another one. */
export const withOriginRegion = (traceHeader: string | undefined, region: string): string =>
  [traceHeader, `Origin=${region}`].filter(Boolean).join(";");
