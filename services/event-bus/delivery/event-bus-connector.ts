import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { mayForward } from "../access/put-access.ts";
import type { Application } from "../application.ts";
import { busArn, parseBusArn } from "../domain/arns.ts";
import { originRegion, withOriginRegion } from "../domain/origin-region.ts";
import { ingestEvent, openBus, tooLargeMessage } from "../ingestion/ingest.ts";
import { readPath } from "../json/json-path.ts";
import { findBus } from "../store/bus.ts";
import { attemptText } from "./attempt-content.ts";
import type { Connector } from "./connector.ts";

/**
 * Puts events, with the target's input as their detail if it names one, on another bus of the account, or on a bus of
 * another account whose policy allows it, in the transaction that ends the delivery, so exactly once; and on a bus of
 * another region by a call of it, at least once. It keeps its account and region, and in its region its id. It passes
 * through a limited number of buses and to one other region, so that rules which feed each other do not loop for ever.
 */
export const eventBusConnector =
  (app: Application): Connector =>
  async (attempt) => {
    const { account, event: matched, target, ruleArn, signal } = attempt;
    const input = hasInput(target) ? attemptText(attempt) : undefined;
    if (typeof input === "object") return input;
    const detail = input === undefined ? matched.detail : detailOf(input);
    if (detail === undefined)
      return { kind: "failed", code: "INVALID_JSON", message: "The input for an event bus is not an object." };
    const event = { ...matched, detail };
    const bus = parseBusArn(target.arn) ?? { account, name: target.arn };
    const region = parseArn(target.arn)?.region;
    if (region !== undefined && region !== app.arnScope.region) {
      const origin = originRegion(event.traceHeader);
      if (origin !== undefined)
        return { kind: "failed", code: "THIRD_REGION_HOP_DETECTED", message: `The event came from ${origin}.` };
      const resources = event.endpointArn === undefined ? event.resources : [...event.resources, event.endpointArn];
      const traceHeader = withOriginRegion(event.traceHeader, app.arnScope.region);
      const outcome = await app.regions.put(region, target.arn, { ...event, resources, traceHeader }, signal);
      return "eventId" in outcome ? { kind: "delivered" } : outcome;
    }
    if (bus.account !== account && event.account !== account)
      return {
        kind: "failed",
        code: "THIRD_ACCOUNT_HOP_DETECTED",
        message: `The event came from account ${event.account} and may not go on to a third account.`,
      };
    if (event.hops + 1 > app.limits.hopsMax)
      return {
        kind: "failed",
        code: "RESOURCE_LIMIT_EXCEEDED",
        message: `The event has passed through ${event.hops + 1} buses.`,
      };
    const isAllowed = await app.store.read(async (reader) => {
      const record = await findBus(reader, bus);
      if (bus.account === account && record === undefined) return undefined;
      const { source, detailType } = event;
      return mayForward(app, bus, record, {
        source,
        detailType,
        account,
        ruleArn,
        hasRole: target.roleArn !== undefined,
      });
    });
    if (isAllowed === undefined)
      return { kind: "failed", code: "NO_RESOURCE", message: `Event bus ${bus.name} does not exist.` };
    if (!isAllowed)
      return {
        kind: "failed",
        code: "NO_PERMISSIONS",
        message: `Account ${account} may not put events on ${busArn(app.arnScope, bus)}.`,
      };
    return {
      kind: "delivered",
      apply: async (transaction) => {
        const next = { ...event, hops: event.hops + 1 };
        const ingested = await ingestEvent(app, transaction, await openBus(app, transaction, bus), next);
        return ingested.kind === "ingested" ? undefined : { code: "RESOURCE_LIMIT_EXCEEDED", message: tooLargeMessage };
      },
    };
  };

const hasInput = ({ input, inputPath, inputTransformer }: Target): boolean =>
  [input, inputPath, inputTransformer].some((each) => each !== undefined);

/** The detail that an input makes: its member `detail`, or else the whole; undefined if that is not an object. */
const detailOf = (input: string): string | undefined => {
  const isObject = (text: string | undefined): text is string => text?.trimStart().startsWith("{") === true;
  if (!isObject(input)) return undefined;
  const detail = readPath(input, "$.detail");
  return isObject(detail) ? detail : input;
};
