import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ScheduledRunRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { ruleArn } from "../domain/arns.ts";
import { nextRun, parseSchedule } from "../../kit/schedule/schedule.ts";
import { deliverToRule } from "../ingestion/ingest.ts";
import { findRule, listSoundTargets } from "../store/rule.ts";

/** The kind of the jobs that run schedules. */
export const scheduleKind = "schedule";

/** A run is retried until it is committed. Each rule has at most one job. */
export const schedulePolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** The parts of a rule that its schedule needs. */
interface ScheduledRule {
  readonly name: string;
  readonly scheduleExpression?: string | undefined;
  readonly state: RuleState;
  readonly generation: string;
}

type Scheduling = Pick<Application, "clock" | "jobs">;

/** Reschedules the next run of a changed rule. The periods of a rate begin now. */
export const rescheduleRule = async (
  app: Scheduling,
  transaction: Transaction,
  bus: BusReference,
  rule: ScheduledRule,
): Promise<void> => {
  const nowMs = app.clock.now();
  if (rule.state === RuleState.DISABLED || rule.scheduleExpression === undefined)
    return cancelSchedule(app, transaction, bus, rule.name);
  return enqueueRun(app, transaction, bus, rule, nowMs, nowMs);
};

/** Cancels the next run of a rule. */
export const cancelSchedule = async (
  app: Scheduling,
  transaction: Transaction,
  bus: BusReference,
  rule: string,
): Promise<void> => {
  await app.jobs.cancel(transaction, jobId(bus, rule));
};

/**
 * Runs schedules: delivers the documented event to the rule's targets and enqueues the next run, in one transaction.
 */
export const scheduleHandler =
  (app: Application): JobHandler =>
  (job) => {
    const run = fromBinary(ScheduledRunRecordSchema, job.payload);
    const bus = { account: run.account, name: run.bus };
    const apply = async (transaction: Transaction): Promise<void> => {
      const rule = await findOrDamaged(findRule(transaction, bus, run.rule));
      const place = { account: bus.account, bus: bus.name, rule: run.rule };
      if (rule === "damaged") {
        app.log.error(place, "the schedule of a damaged rule ends until the rule is put again");
        return;
      }
      if (rule?.generation !== run.generation) return;
      const dueMs = Number(run.dueMs);
      const delivered = await deliverToRule(app, transaction, bus, {
        event: {
          id: app.ids.uuid(),
          detailType: "Scheduled Event",
          source: "aws.events",
          account: run.account,
          timeMs: run.dueMs,
          region: app.arnScope.region,
          resources: [ruleArn(app.arnScope, bus, rule.name)],
          detail: "{}",
          traceHeader: undefined,
          replayName: undefined,
          hops: 0,
        },
        rule: rule.name,
        ruleRoleArn: rule.roleArn,
        targets: await listSoundTargets(transaction, bus, rule.name, (targetId) =>
          app.log.error({ ...place, targetId, dueMs }, "a run leaves out a damaged target"),
        ),
      });
      // A retry would fail as well, and the next runs must not wait for it.
      if (delivered.kind === "too-large") app.log.error({ ...place, dueMs }, "a run has too large inputs");
      await enqueueRun(app, transaction, bus, rule, dueMs, Math.max(dueMs, app.clock.now()));
    };
    return Promise.resolve({ done: true, apply });
  };

const enqueueRun = async (
  app: Scheduling,
  transaction: Transaction,
  bus: BusReference,
  rule: ScheduledRule,
  sinceMs: number,
  afterMs: number,
): Promise<void> => {
  const schedule = parseSchedule(rule.scheduleExpression ?? "");
  const dueMs = schedule === undefined ? undefined : nextRun(schedule, sinceMs, afterMs);
  if (dueMs === undefined) return cancelSchedule(app, transaction, bus, rule.name);
  const id = jobId(bus, rule.name);
  await app.jobs.cancel(transaction, id);
  const payload = toBinary(
    ScheduledRunRecordSchema,
    create(ScheduledRunRecordSchema, {
      account: bus.account,
      bus: bus.name,
      rule: rule.name,
      generation: rule.generation,
      dueMs: BigInt(dueMs),
    }),
  );
  app.jobs.enqueue(transaction, { kind: scheduleKind, owner: `${bus.account}/${bus.name}`, payload, dueMs, id });
};

/** The id of a rule's job: a rule has at most one. */
const jobId = (bus: BusReference, rule: string): string => `schedule:${bus.account}/${bus.name}/${rule}`;
