import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";

import { ScheduledTriggerPropertiesSchema } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { findScheduleProblem, nextFlowRun } from "../../../../services/customer-profile/domain/flow/flow-schedule.ts";

type Scheduled = MessageInitShape<typeof ScheduledTriggerPropertiesSchema>;

const at = (text: string) => timestampFromDate(new Date(text));
const put = "2026-03-01T10:10:00Z";

test.each<[string, Scheduled, string, (string | undefined)[]]>([
  // what it is, schedule of a flow that was put at 10:10, after, next runs
  [
    "a rate begins when the flow is put",
    { scheduleExpression: "rate(1 hour)" },
    "2026-03-01T10:09:59Z",
    ["2026-03-01T10:10:00.000Z", "2026-03-01T11:10:00.000Z"],
  ],
  ["a rate without a space", { scheduleExpression: "rate(5minutes)" }, put, ["2026-03-01T10:15:00.000Z"]],
  ["a rate of one and a plural", { scheduleExpression: "rate(1hours)" }, put, ["2026-03-01T11:10:00.000Z"]],
  [
    "a rate begins with the schedule",
    { scheduleExpression: "rate(2 days)", scheduleStartTime: at("2026-03-02T00:00:00Z") },
    put,
    ["2026-03-02T00:00:00.000Z", "2026-03-04T00:00:00.000Z"],
  ],
  [
    "a schedule ends",
    { scheduleExpression: "rate(1 hour)", scheduleEndTime: at("2026-03-01T11:30:00Z") },
    put,
    ["2026-03-01T11:10:00.000Z", undefined],
  ],
  [
    "an offset puts all runs off",
    { scheduleExpression: "rate(1 hour)", scheduleOffset: 600n },
    put,
    ["2026-03-01T10:20:00.000Z", "2026-03-01T11:20:00.000Z"],
  ],
  [
    "cron in a zone",
    { scheduleExpression: "cron(0 9 * * ? *)", timezone: "Europe/Lisbon" },
    "2026-03-28T09:00:00Z",
    ["2026-03-29T08:00:00.000Z"],
  ],
  [
    "cron begins with the schedule",
    { scheduleExpression: "cron(0 12 * * ? *)", scheduleStartTime: at("2026-03-05T12:00:00Z") },
    put,
    ["2026-03-05T12:00:00.000Z", "2026-03-06T12:00:00.000Z"],
  ],
])("%s", (_what, scheduled, after, next) => {
  const schedule = create(ScheduledTriggerPropertiesSchema, scheduled);
  const found: (string | undefined)[] = [];
  for (let afterMs: number | undefined = Date.parse(after); afterMs !== undefined && found.length < next.length;) {
    afterMs = nextFlowRun(schedule, Date.parse(put), afterMs);
    found.push(afterMs === undefined ? undefined : new Date(afterMs).toISOString());
  }
  expect(found).toEqual(next);
});

test.each<[Scheduled, string | undefined]>([
  [{ scheduleExpression: "cron(0 12 * * ? *)", timezone: "America/Sao_Paulo" }, undefined],
  [{ scheduleExpression: "rate(1weeks)" }, "ScheduleExpression"],
  [{ scheduleExpression: "rate(0 minutes)" }, "ScheduleExpression"],
  [{ scheduleExpression: "banana" }, "ScheduleExpression"],
  [{ scheduleExpression: "rate(1 hour)", timezone: "Mars/Olympus" }, "Timezone"],
])("%j is refused for its %s", (scheduled, member) => {
  const problem = findScheduleProblem(create(ScheduledTriggerPropertiesSchema, scheduled));
  expect(problem?.split(" ")[1]).toBe(member);
});
