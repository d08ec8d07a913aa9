import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import {
  CreateEventBusRequestSchema,
  EventBusService,
  ListEventBusesRequestSchema,
  PutEventsRequestSchema,
  PutTargetsRequestSchema,
} from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Question } from "../../../services/kit/access/questions.ts";
import { questionsOf } from "../../../services/kit/access/questions.ts";

const { createEventBus, listEventBuses, putEvents, putTargets } = EventBusService.method;

const asked = (questions: readonly Question[]): string[] =>
  questions.map(({ permission, resource, element }) => [permission.action, resource, element].join(" ").trim());

test("a call asks for each permission that its request needs", () => {
  expect(asked(questionsOf(createEventBus, create(CreateEventBusRequestSchema, { name: "orders" })))).toEqual([
    "CreateEventBus event-bus/orders",
  ]);
  const tagged = create(CreateEventBusRequestSchema, { name: "orders", tags: [{ key: "team", value: "sales" }] });
  expect(asked(questionsOf(createEventBus, tagged))).toEqual([
    "CreateEventBus event-bus/orders",
    "TagResource event-bus/orders",
  ]);
  expect(asked(questionsOf(listEventBuses, create(ListEventBusesRequestSchema)))).toEqual(["ListEventBuses *"]);
});

test("each element of a list is asked for by its index, and reads its own members", () => {
  const entries = [{ eventBusName: "orders", source: "shop" }, { source: "bank" }];
  const questions = questionsOf(putEvents, create(PutEventsRequestSchema, { entries }));
  expect(asked(questions)).toEqual(["PutEvents event-bus/orders 0", "PutEvents event-bus/ 1"]);
  expect(questions.map(({ read }) => read("entries.source"))).toEqual(["shop", "bank"]);
});

test("while its document is unread, a list is asked about as a whole", () => {
  const questions = questionsOf(putEvents, create(PutEventsRequestSchema, {}), true);
  expect(asked(questions)).toEqual(["PutEvents event-bus/"]);
});

test("a member of a list's elements is asked for once for each of its values", () => {
  const roles = ["arn:aws:iam::000000000000:role/a", undefined, "arn:aws:iam::000000000000:role/b"];
  const targets = [...roles, roles[0]].map((roleArn, id) => ({ id: `${id}`, arn: "arn", ...(roleArn && { roleArn }) }));
  expect(asked(questionsOf(putTargets, create(PutTargetsRequestSchema, { rule: "late", targets })))).toEqual([
    "PutTargets rule//late",
    "iam:PassRole arn:aws:iam::000000000000:role/a",
    "iam:PassRole arn:aws:iam::000000000000:role/b",
  ]);
  expect(asked(questionsOf(putTargets, create(PutTargetsRequestSchema, { rule: "late" })))).toEqual([
    "PutTargets rule//late",
  ]);
});
