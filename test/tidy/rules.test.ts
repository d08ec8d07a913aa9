import { describe, expect, test } from "vitest";

import { rules } from "./rules.ts";

const serviceProto = "proto/quartet/eventbus/v1/event_bus_service.proto";

/** For each rule a tree that breaks it and where; a rule without a failing sample may be one that cannot fail. */
const samples: ReadonlyArray<readonly [rule: string, broken: Record<string, string>, path: string]> = [
  [
    "source files are at most 400 lines long, tests 600",
    { "services/kit/a.ts": "x;\n".repeat(401) },
    "services/kit/a.ts",
  ],
  ["files are named in kebab case and after a noun", { "gateway/utils.ts": "" }, "gateway/utils.ts"],
  ["nothing is left for later without a condition", { "gateway/a.ts": "// TODO: more" }, "gateway/a.ts"],
  ["a skipped or focused test gives its reason", { "test/a.test.ts": "test.skip('x')" }, "test/a.test.ts"],
  ["an exemption from lint or types gives its reason", { "gateway/a.ts": "// @ts-expect-error" }, "gateway/a.ts"],
  ["only the store opens LevelDB", { "gateway/a.ts": 'import { Level } from "level";' }, "gateway/a.ts"],
  [
    "no service imports another, and the gateway imports none",
    { "gateway/a.ts": 'import { x } from "../services/event-bus/x.ts";' },
    "gateway/a.ts",
  ],
  [
    "the kit imports no service and no generated service",
    { "services/kit/a/a.ts": 'import { x } from "../../../gen/quartet/eventbus/v1/x_pb.ts";' },
    "services/kit/a/a.ts",
  ],
  ["the kit holds no domain word", { "services/kit/a.ts": "const bucket = 1;" }, "services/kit/a.ts"],
  [
    "domain code imports only domain code, pure engines and generated types",
    { "services/event-bus/domain/a.ts": 'import { x } from "../store/x.ts";' },
    "services/event-bus/domain/a.ts",
  ],
  [
    "each RPC has a handler of its name or stands as pending, and no handler is without its RPC",
    { [serviceProto]: "  rpc PutRule(A) returns (B);" },
    serviceProto,
  ],
  [
    "each handler is named by a test of its service",
    { [serviceProto]: "  rpc PutRule(A) returns (B);" },
    "test/event-bus",
  ],
  ["links in documents resolve", { "README.md": "# A\n[b](b.md)" }, "README.md"],
  [
    "npm commands in documents exist",
    { "package.json": '{"scripts":{"test":"x"}}', "README.md": "# A\n`npm run tset`" },
    "README.md",
  ],
  ["each document has one title", { "README.md": "# A\n# B" }, "README.md"],
  ["no source file is dead", { "gateway/a.ts": "" }, "gateway/a.ts"],
];

describe("each rule", () => {
  test.each(samples)("finds what breaks it: %s", (name, broken, path) => {
    const rule = rules.find((each) => each.name === name);
    expect(rule?.check(new Map(Object.entries(broken))).map((finding) => finding.path)).toEqual([path]);
  });

  test("has a failing sample", () => {
    expect(samples.map(([name]) => name).toSorted()).toEqual(rules.map((rule) => rule.name).toSorted());
  });
});
