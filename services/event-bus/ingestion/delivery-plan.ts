import { create, toBinary } from "@bufbuild/protobuf";

import { DeliveryRecordSchema, FanOutRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { BusReference } from "../domain/arns.ts";
import { deliveryOwner } from "../domain/delivery-owner.ts";
import { retryLimitsOf } from "../domain/retry.ts";
import type { Limits } from "../limits.ts";
import type { Steps } from "../pattern/steps.ts";
import type { WatchingRule } from "../store/watching-rule.ts";

/** The parts of a rule that its deliveries need. */
export type DeliveringRule = Pick<WatchingRule, "name" | "roleArn" | "targets">;

/** A delivery to a target, but for the event. */
export interface PlannedDelivery {
  readonly owner: string;
  /** The members of a DeliveryRecord that name the rule and the target. */
  readonly delivery: Uint8Array;
  /** How long after the event was ingested its age ends, in milliseconds. */
  readonly ageMs: bigint;
}

/** A delivery without an order. */
export interface UnorderedPlan extends PlannedDelivery {
  /** The delivery as a member of a FanOutRecord. */
  readonly encoded: Uint8Array;
}

/** A delivery that follows those before it with the same key. */
export interface OrderedPlan extends PlannedDelivery {
  /** The bus, the rule and the target's id: deliveries of others follow in an order of their own. */
  readonly scope: readonly string[];
  /** The JSON path of the key. */
  readonly keyPath: string;
}

/** The deliveries of an event that one rule matches. */
export interface RulePlan {
  readonly deliveries: readonly UnorderedPlan[];
  /** The deliveries to targets with an order. They are not among the others. */
  readonly ordered: readonly OrderedPlan[];
  /** An upper bound for what they add to a transaction. */
  readonly bytes: number;
}

/** An upper bound for the keys of a job and of a holder, without the owner, which is part of two of them. */
export const rowBytes = 1_024;

/** The plans of rules that remain compiled: a rule that matches many events is encoded once. */
const plans = new WeakMap<DeliveringRule, RulePlan>();

/**
 * The deliveries of an event, by the rules that it matches; undefined if they are too large for one transaction,
 * together with the copies of the event that archives keep. A step makes the plan of one rule: an event may be the
 * first one of thousands.
 */
export function* planDeliveries(
  { deliveriesBytesMax }: Pick<Limits, "deliveriesBytesMax">,
  bus: BusReference,
  rules: readonly DeliveringRule[],
  copiesBytes = 0,
): Steps<RulePlan[] | undefined> {
  const planned: RulePlan[] = [];
  let bytesSum = copiesBytes;
  for (const rule of rules) {
    let plan = plans.get(rule);
    if (plan === undefined) {
      plan = planOf(bus, rule);
      plans.set(rule, plan);
      yield;
    }
    planned.push(plan);
    bytesSum += plan.bytes;
  }
  return bytesSum > deliveriesBytesMax ? undefined : planned;
}

const planOf = (bus: BusReference, rule: DeliveringRule): RulePlan => {
  const { name, roleArn, targets } = rule;
  const plannedOf = (target: Target): PlannedDelivery => {
    const members = { bus: bus.name, rule: name, target, ...(roleArn === undefined ? {} : { ruleRoleArn: roleArn }) };
    return {
      owner: deliveryOwner(bus.account, target.arn),
      delivery: toBinary(DeliveryRecordSchema, create(DeliveryRecordSchema, members)),
      ageMs: BigInt(retryLimitsOf(target).ageMsMax),
    };
  };
  const deliveries = targets
    .filter(({ orderedDelivery }) => orderedDelivery === undefined)
    .map((target) => {
      const planned = plannedOf(target);
      return {
        ...planned,
        encoded: toBinary(FanOutRecordSchema, create(FanOutRecordSchema, { deliveries: [planned] })),
      };
    });
  const ordered = targets.flatMap((target) => {
    const keyPath = target.orderedDelivery?.keyPath;
    return keyPath === undefined ? [] : [{ ...plannedOf(target), scope: [bus.name, name, target.id], keyPath }];
  });
  const bytes = [...deliveries, ...ordered].reduce(
    (sum, { owner, delivery }) => sum + delivery.byteLength + 2 * Buffer.byteLength(owner) + rowBytes,
    0,
  );
  return { deliveries, ordered, bytes };
};
