import type { ServiceRequest } from "./service-request.ts";

/** The request that gives a function an event, without waiting for what it makes of it. */
export const invokeWithEvent = (functionArn: string, event: string): ServiceRequest => ({
  path: `/2015-03-31/functions/${encodeURIComponent(functionArn)}/invocations`,
  headers: { "content-type": "application/json", "x-amz-invocation-type": "Event" },
  body: event,
});
