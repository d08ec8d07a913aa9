import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { NotificationConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import { notifiedOf, planNotification } from "../../../services/object-storage/domain/notification.ts";

const filter = (prefix: string, suffix: string) => ({
  key: {
    filterRules: [
      { name: "Prefix", value: prefix },
      { name: "suffix", value: suffix },
    ],
  },
});

test.each([
  // events, prefix, suffix, event, key, whether it is notified
  [["s3:ObjectCreated:*"], "", "", "s3:ObjectCreated:Copy", "a", true],
  [["svc:ObjectCreated:*"], "", "", "s3:ObjectCreated:Copy", "a", true],
  [["s3:ObjectCreated:Put"], "", "", "s3:ObjectCreated:Copy", "a", false],
  [["s3:ObjectRemoved:*", "s3:ObjectCreated:Put"], "", "", "s3:ObjectCreated:Put", "a", true],
  [["s3:ObjectCreated:*"], "in/", ".jpg", "s3:ObjectCreated:Put", "in/a.jpg", true],
  [["s3:ObjectCreated:*"], "in/", ".jpg", "s3:ObjectCreated:Put", "in/a.png", false],
  [["s3:ObjectCreated:*"], "in/", ".jpg", "s3:ObjectCreated:Put", "a.jpg", false],
])("of %j, prefix %j and suffix %j, %s of %s is notified: %s", (events, prefix, suffix, event, key, isNotified) => {
  const configuration = create(NotificationConfigurationSchema, {
    queueConfigurations: [{ id: "1", queueArn: "q", events, filter: filter(prefix, suffix) }],
  });
  expect(notifiedOf(configuration, event, key)).toHaveLength(isNotified ? 1 : 0);
});

const events = ["s3:ObjectCreated:*"];
const place = { accountId: "111111111111", region: "us-east-1", reached: new Set(["sqs"] as const) };

test("the ids of many entries are compared, and the events of few, in time that grows with them", () => {
  const queueConfigurations = Array.from({ length: 200_000 }, (_none, index) => ({
    id: `${index}`,
    queueArn: "q",
    events,
  }));
  const plan = (id: string) => (): unknown =>
    planNotification(
      create(NotificationConfigurationSchema, {
        queueConfigurations,
        functionConfigurations: [{ id, functionArn: "f", events }],
      }),
      place,
      () => "",
    );
  expect(plan("199999")).toThrow("cannot share the same id");
  expect(plan("200000")).toThrow("at most 100 notification configurations");
  const many = Array.from({ length: 100 }, (_none, index) => ({
    queueArn: "arn:aws:sqs:us-east-1:111111111111:q",
    events: Array.from({ length: 5_000 }, () => "s3:ObjectRemoved:Delete"),
    filter: filter(`${index}/`, ""),
  }));
  const planned = planNotification(
    create(NotificationConfigurationSchema, { queueConfigurations: many }),
    place,
    () => "x",
  );
  expect(planned.queueConfigurations.map((entry) => entry.events)).toEqual(many.map(() => ["s3:ObjectRemoved:Delete"]));
});
