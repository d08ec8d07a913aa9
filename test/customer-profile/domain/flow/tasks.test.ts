import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { TaskSchema } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { recordOfJson } from "../../../../services/customer-profile/domain/flow/field-value.ts";
import { compileTasks } from "../../../../services/customer-profile/domain/flow/tasks.ts";

type TaskRow = readonly [
  type: string,
  operator: string,
  sources: readonly string[],
  destination?: string,
  properties?: Readonly<Record<string, string>>,
];

const taskOf = ([taskType, s3, sourceFields, destinationField, taskProperties]: TaskRow) =>
  create(TaskSchema, {
    taskType,
    sourceFields: [...sourceFields],
    ...(s3 !== "" && { connectorOperator: { s3 } }),
    ...(destinationField !== undefined && { destinationField }),
    ...(taskProperties && { taskProperties }),
  });

/** The text of the object; or what became of the record, and why. */
const outcomeOf = (tasks: readonly TaskRow[], recordText: string): string => {
  const record = recordOfJson(recordText);
  if (record === undefined) throw new Error("the record is no JSON object");
  const outcome = compileTasks(tasks.map(taskOf))(record, recordText.length);
  if (outcome.kind === "object") return outcome.text;
  return outcome.kind === "left-out" ? "left-out" : `${outcome.kind}: ${outcome.reason}`;
};

describe("tasks", () => {
  test.each<[string, TaskRow[], string, string]>([
    // what it is, tasks, record, outcome
    ["none", [], '{"a":"x","b":null,"c":{"d":[1,2]}}', '{"a":"x","c":{"d":[1,2]}}'],
    ["none, and digits stay", [], '{"id":12345678901234567890,"n":1.0}', '{"id":12345678901234567890,"n":1.0}'],
    ["a map", [["Map", "NO_OP", ["Mail"], "email"]], '{"Mail":"a@x.org","b":1}', '{"email":"a@x.org"}'],
    ["a map of several fields", [["Map", "", ["a", "b"]]], '{"a":1,"b":"2","c":3}', '{"a":1,"b":"2"}'],
    ["a map of what is not there", [["Map", "NO_OP", ["a"], "b"]], '{"c":1}', "{}"],
    ["a map out of an object", [["Map", "NO_OP", ["who.name"], "name"]], '{"who":{"name":"Ana"}}', '{"name":"Ana"}'],
    ["a name with a dot", [["Map", "NO_OP", ["a.b"], "c"]], '{"a.b":1,"a":{"b":2}}', '{"c":1}'],
    [
      "a map to a number",
      [["Map", "NO_OP", ["a"], "a", { DESTINATION_DATA_TYPE: "bigint" }]],
      '{"a":" 12345678901234567890 "}',
      '{"a":12345678901234567890}',
    ],
    [
      "a map to a number of what is none",
      [["Map", "NO_OP", ["a"], "a", { DESTINATION_DATA_TYPE: "integer" }]],
      '{"a":"twelve"}',
      "failed: the field a is no integer",
    ],
    [
      "maps to a truth value and to a text",
      [
        ["Map", "NO_OP", ["a"], "a", { DESTINATION_DATA_TYPE: "boolean" }],
        ["Map", "NO_OP", ["b"], "b", { DESTINATION_DATA_TYPE: "string" }],
      ],
      '{"a":"TRUE","b":7.10}',
      '{"a":true,"b":"7.10"}',
    ],
    ["a projection", [["Filter", "PROJECTION", ["a", "c"]]], '{"a":1,"b":2}', '{"a":1}'],
    [
      "a projection before a map",
      [
        ["Filter", "PROJECTION", ["a"]],
        ["Map", "NO_OP", ["a"], "x"],
        ["Map", "NO_OP", ["b"], "y"],
      ],
      '{"a":1,"b":2}',
      '{"x":1}',
    ],
    [
      "a merge that a map reads",
      [
        ["Merge", "NO_OP", ["f", "l"], "full", { CONCAT_FORMAT: "${f} ${l}!" }],
        ["Map", "NO_OP", ["full"], "Name"],
      ],
      '{"f":"Ana","l":"Sousa"}',
      '{"Name":"Ana Sousa!"}',
    ],
    [
      "a merge of what is not there",
      [["Merge", "", ["f", "l"], "full", { CONCAT_FORMAT: "${f}-${l}" }]],
      '{"f":"Ana"}',
      '{"full":"Ana-"}',
    ],
    ["a mask", [["Mask", "MASK_ALL", ["a"]]], '{"a":"sé😀","b":1}', '{"a":"***"}'],
    [
      "a mask after a map",
      [
        ["Map", "NO_OP", ["ssn"], "s"],
        ["Mask", "MASK_FIRST_N", ["s"], "s", { MASK_LENGTH: "5", MASK_VALUE: "#" }],
      ],
      '{"ssn":"123456789"}',
      '{"s":"#####6789"}',
    ],
    [
      "a mask before a map",
      [
        ["Mask", "MASK_LAST_N", ["ssn"], "ssn", { MASK_LENGTH: "4" }],
        ["Map", "NO_OP", ["ssn"], "ssn"],
      ],
      '{"ssn":123456789}',
      '{"ssn":"12345****"}',
    ],
    ["a truncation", [["Truncate", "NO_OP", ["a"], "b", { TRUNCATE_LENGTH: "2" }]], '{"a":"😀😀😀"}', '{"b":"😀😀"}'],
    ["a sum", [["Arithmetic", "ADDITION", ["a", "b"], "c"]], '{"a":"1.5","b":2}', '{"c":3.5}'],
    [
      "a difference in another order",
      [["Arithmetic", "SUBTRACTION", ["a", "b"], "c", { MATH_OPERATION_FIELDS_ORDER: "b, a" }]],
      '{"a":1,"b":5}',
      '{"c":4}',
    ],
    ["a product with a constant", [["Arithmetic", "MULTIPLICATION", ["a"], "c", { VALUE: "3" }]], '{"a":2}', '{"c":6}'],
    [
      "a division by zero",
      [["Arithmetic", "DIVISION", ["a", "b"], "c"]],
      '{"a":1,"b":0}',
      "failed: the DIVISION of a, b has no result",
    ],
    [
      "a sum of a text",
      [["Arithmetic", "ADDITION", ["a", "b"], "c"]],
      '{"a":"x","b":1}',
      "failed: the field a is no number",
    ],
    ["a name that objects have", [["Map", "NO_OP", ["__proto__"], "__proto__"]], '{"__proto__":1}', '{"__proto__":1}'],
  ])("%s", (_what, tasks, record, outcome) => {
    expect(outcomeOf(tasks, record)).toBe(outcome);
  });

  const filter = (operator: string, properties: Readonly<Record<string, string>>): TaskRow[] => [
    ["Filter", operator, ["a"], undefined, properties],
  ];
  test.each<[TaskRow[], string, string]>([
    // filter, record, outcome
    [filter("LESS_THAN", { VALUE: "10" }), '{"a":"9"}', "passes"],
    [filter("LESS_THAN", { VALUE: "10" }), '{"a":"10"}', "left-out"],
    [filter("LESS_THAN", { VALUE: "10", DATA_TYPE: "string" }), '{"a":"9"}', "left-out"],
    [filter("LESS_THAN_OR_EQUAL_TO", { VALUE: "10" }), '{"a":10}', "passes"],
    [filter("GREATER_THAN", { VALUE: "10" }), '{"a":10.5}', "passes"],
    [filter("GREATER_THAN", { VALUE: "10" }), '{"b":11}', "left-out"],
    [filter("GREATER_THAN_OR_EQUAL_TO", { VALUE: "b" }), '{"a":"b"}', "passes"],
    [filter("GREATER_THAN", { VALUE: "2026-01-01", DATA_TYPE: "date" }), '{"a":"2026-01-02T03:04:05Z"}', "passes"],
    [filter("GREATER_THAN", { VALUE: "2026-01-01", DATA_TYPE: "datetime" }), '{"a":"2026-01-01 00:00:00"}', "left-out"],
    [filter("GREATER_THAN", { VALUE: "1767225600000", DATA_TYPE: "datetime" }), '{"a":"2026-01-02"}', "passes"],
    [filter("GREATER_THAN", { VALUE: "5", DATA_TYPE: "number" }), '{"a":"six"}', "left-out"],
    [filter("BETWEEN", { LOWER_BOUND: "1", UPPER_BOUND: "3" }), '{"a":3}', "passes"],
    [filter("BETWEEN", { LOWER_BOUND: "1", UPPER_BOUND: "3" }), '{"a":4}', "left-out"],
    [filter("EQUAL_TO", { VALUE: "a,b" }), '{"a":"a,b"}', "passes"],
    [filter("EQUAL_TO", { VALUES: "x,y" }), '{"a":"y"}', "passes"],
    [filter("EQUAL_TO", { VALUES: "x,y" }), '{"a":"z"}', "left-out"],
    [filter("NOT_EQUAL_TO", { VALUES: "x,y" }), '{"a":"y"}', "left-out"],
    [filter("NOT_EQUAL_TO", { VALUES: "x,y" }), '{"b":"y"}', "passes"],
    [filter("EQUAL_TO", { VALUE: "x" }), '{"a":null}', "left-out"],
    [[["Validate", "VALIDATE_NON_NULL", ["a"]]], '{"a":""}', "left-out"],
    [[["Validate", "VALIDATE_NON_NULL", ["a"]]], '{"a":0}', "passes"],
    [[["Validate", "VALIDATE_NON_ZERO", ["a"]]], '{"a":"0.0"}', "left-out"],
    [[["Validate", "VALIDATE_NON_NEGATIVE", ["a"]]], '{"a":-1}', "left-out"],
    [[["Validate", "VALIDATE_NUMERIC", ["a"]]], '{"a":"1e3"}', "passes"],
    [[["Validate", "VALIDATE_NUMERIC", ["a"], "", { VALIDATION_ACTION: "DropRecord" }]], '{"a":"x"}', "left-out"],
    [
      [["Validate", "VALIDATE_NUMERIC", ["a"], "", { VALIDATION_ACTION: "TerminateFlow" }]],
      '{"a":"x"}',
      "ended: the field a of a record does not pass VALIDATE_NUMERIC",
    ],
  ])("%j of %s: %s", (tasks, record, outcome) => {
    const found = outcomeOf(tasks, record);
    expect(found.startsWith("{") ? "passes" : found).toBe(outcome);
  });

  test("no chain of tasks makes more of a record than a bounded text", () => {
    const text = "x".repeat(100_000);
    const copies = Array.from({ length: 300 }, (_each, index): TaskRow => ["Map", "NO_OP", ["a"], `f${index}`]);
    const merge: TaskRow = ["Merge", "", ["a"], "b", { CONCAT_FORMAT: "${a}".repeat(400) }];
    const mask: TaskRow = ["Mask", "MASK_ALL", ["a"], "b", { MASK_VALUE: "*".repeat(2_000) }];
    for (const tasks of [copies, [merge], [mask]])
      expect(outcomeOf(tasks, JSON.stringify({ a: text }))).toBe(
        "failed: the tasks make more than 1000000 characters of it",
      );
    expect(outcomeOf(copies.slice(0, 3), JSON.stringify({ a: text }))).toBe(
      "failed: the object has more than 256000 characters",
    );
  });
});
