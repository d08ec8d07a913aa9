import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { RulePlan } from "../../../services/event-bus/ingestion/delivery-plan.ts";
import { planDeliveries } from "../../../services/event-bus/ingestion/delivery-plan.ts";
import type { Steps } from "../../../services/event-bus/pattern/steps.ts";

const bus = { account: "000000000000", name: "default" };
const limits = { deliveriesBytesMax: 1_000_000 };

const rulesOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    name: `rule-${n}`,
    roleArn: undefined,
    targets: [create(TargetSchema, { id: "1", arn: `arn:aws:sqs:us-east-1:000000000000:queue-${n}` })],
  }));

/** How often the steps may pause, and the owners of the deliveries. */
const planned = (steps: Steps<RulePlan[] | undefined>): [pauses: number, owners: string[] | undefined] => {
  let pauses = 0;
  for (;;) {
    const step = steps.next();
    if (step.done === true)
      return [pauses, step.value?.flatMap(({ deliveries }) => deliveries.map(({ owner }) => owner))];
    pauses += 1;
  }
};

test("planDeliveries may pause after each rule whose first event it is, and plans each rule once", () => {
  const rules = rulesOf(3);
  const owners = [0, 1, 2].map((n) => `delivery/000000000000/arn:aws:sqs:us-east-1:000000000000:queue-${n}`);
  expect(planned(planDeliveries(limits, bus, rules.slice(0, 2)))).toEqual([2, owners.slice(0, 2)]);
  expect(planned(planDeliveries(limits, bus, rules))).toEqual([1, owners]);
  expect(planned(planDeliveries(limits, bus, rules))).toEqual([0, owners]);
});

test("planDeliveries plans nothing where the deliveries and the copies in archives are too large together", () => {
  const rules = rulesOf(2);
  expect(planned(planDeliveries(limits, bus, rules, 1_000_000))).toEqual([2, undefined]);
  expect(planned(planDeliveries({ deliveriesBytesMax: 1_000 }, bus, rules))).toEqual([0, undefined]);
});
