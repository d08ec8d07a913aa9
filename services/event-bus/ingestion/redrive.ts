import type { DeadLetterRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { findOrDamaged, undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { deleteDeadLetter, findDeadLetterById } from "../store/dead-letter.ts";
import { findRule, findTarget } from "../store/rule.ts";
import { deliverToRule, ingestEvent, openBus } from "./ingest.ts";

/**
 * The outcome of redriving a letter, with the bytes that it added to the transaction. If its deliveries are too large
 * for one transaction, or its bus is damaged, the letter remains.
 */
type Redriven =
  | { readonly kind: "redriven"; readonly bytes: number }
  | { readonly kind: "damaged" }
  | { readonly kind: "too-large" }
  | { readonly kind: "absent" };

/**
 * Delivers a dead letter again, or puts an event that failed on its bus or in an archive there again, and deletes the
 * letter. It goes to its target as the rule has it now, so that a wrong input or role can be mended, or to the letter's
 * own if the rule has it no more. Throws NamedKeyError, before it has written anything, while the key of such an event,
 * or of one for a target with an order, cannot be used.
 */
export const redriveDeadLetter = async (
  app: Application,
  transaction: Transaction,
  account: string,
  id: string,
): Promise<Redriven> => {
  const letter = await findDeadLetterById(transaction, account, id);
  if (letter === undefined) return { kind: "absent" };
  const ingested = await ingestAgain(app, transaction, account, letter);
  if (ingested.kind !== "ingested") return ingested;
  deleteDeadLetter(transaction, account, id, letter);
  return { kind: "redriven", bytes: ingested.bytes };
};

const ingestAgain = async (
  app: Application,
  transaction: Transaction,
  account: string,
  { event, bus: name, rule, ruleRoleArn, target }: DeadLetterRecord,
) => {
  const bus = { account, name };
  if (event === undefined) return { kind: "ingested", bytes: 0 } as const;
  if (target !== undefined) {
    // The letter's own count where those of the rule are damaged.
    const present = await findTarget(transaction, bus, rule, target.id).catch(undefinedIfDamaged);
    const presentRule = present && (await findOrDamaged(findRule(transaction, bus, rule)));
    const roleArn = present === undefined || presentRule === "damaged" ? ruleRoleArn : presentRule?.roleArn;
    const targets = [present ?? target];
    const isOrdered = targets[0]?.orderedDelivery !== undefined;
    const key = isOrdered ? { opened: await app.sealing.open(transaction, account, event) } : {};
    return deliverToRule(app, transaction, bus, { event, ...key, rule, ruleRoleArn: roleArn, targets });
  }
  const opened = await app.sealing.open(transaction, account, event);
  // An event that one archive could not keep has had its deliveries.
  const onlyRules = rule === "" ? undefined : new Set([rule]);
  const openedBus = await findOrDamaged(openBus(app, transaction, bus));
  if (openedBus === "damaged") return { kind: "damaged" } as const;
  return ingestEvent(app, transaction, openedBus, opened, onlyRules);
};
