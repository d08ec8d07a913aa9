import type { Clock } from "../../../kit/clock/clock.ts";
import type { Broker } from "../../domain/broker.ts";
import { hasPlace, parseBrokerTarget } from "../../domain/broker.ts";
import { eventJson } from "../../domain/envelope.ts";
import { classifyStatus } from "../../domain/http-outcome.ts";
import { webhookHeaders } from "../../domain/webhook-signature.ts";
import { PathReader } from "../../json/json-path.ts";
import { contentHeaders } from "../api-request.ts";
import type { AttemptContent } from "../attempt-content.ts";
import { attemptContent } from "../attempt-content.ts";
import type { AttemptOutcome, Connector, DeliveryAttempt } from "../connector.ts";
import type { HttpSender } from "../../../kit/outgoing/http-sender.ts";
import { outcomeOfError } from "../../../kit/outgoing/http-sender.ts";
import { partitionKey } from "../partition-key.ts";
import type { BrokerConnections } from "./broker-connections.ts";
import { failed } from "./broker-driver.ts";

/** The brokers that an installation declares, and what reaches them. */
export interface BrokerTools {
  readonly declared: readonly Broker[];
  readonly connections: BrokerConnections;
  readonly sender: HttpSender;
  readonly clock: Clock;
}

/**
 * Delivers to a declared broker of the rule's account. A broker that is not declared, or has no places of the target's
 * sort, fails permanently.
 */
export const brokerConnector =
  (tools: BrokerTools): Connector =>
  async (attempt) => {
    const { arn } = attempt.target;
    const named = parseBrokerTarget(arn);
    const broker = tools.declared.find(
      ({ account, name }) => account === attempt.account && account === named?.account && name === named.broker,
    );
    if (named === undefined || broker === undefined)
      return failed("NO_RESOURCE", `This installation has no broker for ${arn}.`);
    if (!hasPlace(broker, named.place))
      return failed("INVALID_PARAMETER", `The broker ${broker.name} has nothing of the kind that ${arn} names.`);
    const content = attemptContent(attempt);
    if ("kind" in content) return content;
    if (named.place === undefined) return callWebhook(broker, attempt, content, tools);
    const message = {
      place: named.place,
      id: attempt.deliveryId,
      key: partitionKey(attempt.target, new PathReader(eventJson(attempt.event)), attempt.event.id),
      body: content.body,
      contentType: content.contentType ?? "application/json",
      attributes: content.attributes,
    };
    return (await tools.connections.publish(broker, message, attempt.signal)) ?? { kind: "delivered" };
  };

const callWebhook = async (
  { url, secret }: Broker,
  { deliveryId, signal }: DeliveryAttempt,
  content: AttemptContent,
  { sender, clock }: Pick<BrokerTools, "sender" | "clock">,
): Promise<AttemptOutcome> => {
  const { body } = content;
  const headers = {
    "content-type": "application/json",
    ...(Object.fromEntries(contentHeaders(content)) as Record<string, string>),
    ...(secret !== undefined && webhookHeaders(secret, deliveryId, clock.now(), body)),
  };
  try {
    const { status, retryAfter } = await sender.send({ method: "POST", url: new URL(url), headers, body }, signal);
    return classifyStatus(status, retryAfter, clock.now());
  } catch (error) {
    return outcomeOfError(error);
  }
};
