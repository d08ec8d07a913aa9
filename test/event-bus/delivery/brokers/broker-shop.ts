import type { MessageInitShape } from "@bufbuild/protobuf";
import { expect } from "vitest";

import type { TargetSchema } from "../../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { BrokerSetting } from "../../../../services/event-bus/domain/broker.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import type { HarnessOptions } from "../../harness.ts";
import { ownerAccount, startHarness } from "../../harness.ts";
import type { BrokerServer } from "./servers.ts";

/** The ARN of a place of the broker `main`, such as `subject/shop.sales`; empty: of the webhook itself. */
export const placeArn = (place: string): string =>
  `arn:aws:events:us-east-1:${ownerAccount}:broker/main${place === "" ? "" : `/${place}`}`;

type Target = Omit<MessageInitShape<typeof TargetSchema>, "$typeName" | "$unknown" | "id" | "arn">;

/** An installation whose broker `main` is declared, with a rule for the sales of a shop. */
export const openBrokerShop = async (setting: BrokerSetting, options: HarnessOptions = {}) => {
  const brokers = [brokerOf(`${ownerAccount}/main`, setting)];
  const harness = await startHarness({ ...options, brokers });
  const { client, app } = harness;
  await client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
  const putTarget = (place: string, target: Target = {}) =>
    client.putTargets({ rule: "sales", targets: [{ input: '{"n":1}', ...target, arn: placeArn(place), id: "t" }] });
  const sell = async (detail = '{"n":1,"key":"k-7"}'): Promise<string> => {
    const { entries } = await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail }] });
    await app.jobs.idle();
    return entries[0]?.eventId ?? "";
  };
  /** Delivers one event without a retry; returns its failure and whether a retry was allowed, or `delivered`. */
  const outcomeAt = async (place: string, target: Target = {}, detail?: string): Promise<string> => {
    const before = (await harness.deadLetters()).length;
    await putTarget(place, { retryPolicy: { maximumRetryAttempts: 0 }, ...target });
    await sell(detail);
    const [letter] = (await harness.deadLetters()).slice(0, -before || undefined).map((each) => each.letter);
    if (letter === undefined) return "delivered";
    return `${letter.exhaustedRetryCondition ? "retry" : "failed"} ${letter.errorCode}: ${letter.errorMessage}`;
  };
  /** Delivers an event, and one while the broker is ended, which arrives once that one is back. */
  const sellAcrossRestart = async (place: string, server: BrokerServer): Promise<void> => {
    await putTarget(place);
    await sell();
    await server.kill();
    await sell();
    expect(app.jobs.stats().retried).toBe(1);
    await server.start();
    harness.clock.advance(60_000);
    await app.jobs.idle();
    expect(await harness.deadLetters()).toEqual([]);
  };
  return { ...harness, putTarget, sell, outcomeAt, sellAcrossRestart };
};
