import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { JobScheduleSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { nextJobMs } from "../../../../services/customer-profile/domain/resolution/resolution-schedule.ts";

const schedule = (dayOfTheWeek: string, time: string) => create(JobScheduleSchema, { dayOfTheWeek, time });
const at = (text: string): number => Date.parse(`${text}Z`);

test.each([
  // schedule, after, next
  [undefined, "2026-01-02T03:04:05", "2026-01-03T00:00:00"],
  [undefined, "2026-01-03T00:00:00", "2026-01-10T00:00:00"],
  [undefined, "2026-01-02T23:59:59", "2026-01-03T00:00:00"],
  [schedule("SUNDAY", "00:00"), "2026-01-02T03:04:05", "2026-01-04T00:00:00"],
  [schedule("FRIDAY", "3:05"), "2026-01-02T03:04:05", "2026-01-02T03:05:00"],
  [schedule("FRIDAY", "03:04"), "2026-01-02T03:04:05", "2026-01-09T03:04:00"],
  [schedule("WEDNESDAY", "23:59"), "2024-02-28T23:59:00", "2024-03-06T23:59:00"],
])("the job of %o after %s begins at %s", (each, after, next) => {
  expect(nextJobMs(each, at(after), [])).toBe(at(next));
});

test("three jobs begin in a week at most", () => {
  const begun = ["2026-01-01T00:00:00", "2026-01-01T08:00:00", "2026-01-02T00:00:00"].map(at);
  const after = at("2026-01-02T03:04:05");
  const soon = schedule("FRIDAY", "4:00");
  expect(nextJobMs(soon, after, begun.slice(1))).toBe(at("2026-01-02T04:00:00"));
  expect(nextJobMs(soon, after, begun)).toBe(at("2026-01-09T04:00:00"));
  expect(nextJobMs(schedule("THURSDAY", "0:00"), after, begun)).toBe(at("2026-01-08T00:00:00"));
});
