import { describe, expect, test } from "vitest";

import { rules } from "./rules.ts";

const serviceProto = "proto/quartet/eventbus/v1/event_bus_service.proto";
const handler = "services/event-bus/operations/rule.ts";

/** For each rule a tree that breaks it and where; a rule without a failing sample may be one that cannot fail. */
const samples: ReadonlyArray<readonly [rule: string, broken: Record<string, string>, paths: readonly string[]]> = [
  [
    "source files are at most 400 lines long, tests 600",
    {
      "services/kit/a.ts": "x;\n".repeat(401),
      "test/a.test.ts": "x;\n".repeat(601),
      "gateway/a.ts": "x;\n".repeat(400),
    },
    ["services/kit/a.ts", "test/a.test.ts"],
  ],
  [
    "files are named in kebab case and after a noun",
    { "gateway/utils.ts": "", "gateway/routeTree.ts": "", "gateway/route-tree.ts": "" },
    ["gateway/routeTree.ts", "gateway/utils.ts"],
  ],
  [
    "the root of each service holds the same files and known rooms",
    {
      "services/event-bus/README.md": "",
      "services/event-bus/application.ts": "",
      "services/event-bus/faults.ts": "",
      "services/event-bus/limits.ts": "",
      "services/event-bus/main.ts": "",
      "services/event-bus/service.ts": "",
      "services/event-bus/sweep.ts": "",
      "services/event-bus/pattern/parse.ts": "",
      "services/event-bus/blobs/blob.ts": "",
    },
    ["services/event-bus/open.ts", "services/event-bus/sweep.ts", "services/event-bus/blobs"],
  ],
  [
    "application.ts declares types only",
    { "services/event-bus/application.ts": "export const open = 1;\nexport interface Application {}" },
    ["services/event-bus/application.ts"],
  ],
  ["no source file is dead", { "gateway/a.ts": "" }, ["gateway/a.ts"]],
  [
    "documents that others wrote are parsed by kit/json",
    { "gateway/a.ts": "const body = JSON.parse(text);", "gateway/b.ts": "const name = JSON.parse(raw) as string;" },
    ["gateway/a.ts"],
  ],
  ["only the store opens LevelDB", { "gateway/a.ts": 'import { Level } from "level";' }, ["gateway/a.ts"]],
  [
    "no service imports another, and the gateway imports none",
    {
      "gateway/a.ts": 'import { x } from "../services/event-bus/x.ts";',
      "services/object-storage/a.ts": 'import type { x } from "../event-bus/x.ts";',
      "services/kit/a.ts": 'import { x } from "../../gateway/a.ts";',
    },
    ["gateway/a.ts", "services/kit/a.ts", "services/object-storage/a.ts"],
  ],
  [
    "the kit and the launcher import no service and no generated service",
    {
      "services/kit/a/a.ts": 'import { x } from "../../../gen/quartet/eventbus/v1/x_pb.ts";',
      "services/kit/a/b.ts": 'import { x } from "../../launcher/x.ts";',
      "services/launcher/a.ts": 'import { x } from "../event-bus/x.ts";\nimport { y } from "../kit/a/a.ts";',
    },
    ["services/kit/a/a.ts", "services/kit/a/b.ts", "services/launcher/a.ts"],
  ],
  [
    "domain code imports only domain code, pure engines and generated types",
    {
      "services/event-bus/domain/a.ts": 'import { x } from "../store/x.ts";\nimport { y } from "../json/y.ts";',
      "services/event-bus/pattern/a.ts": 'import { x } from "../domain/a.ts";',
    },
    ["services/event-bus/domain/a.ts", "services/event-bus/pattern/a.ts"],
  ],
  [
    "imports within a service point downwards",
    {
      "services/event-bus/store/a.ts": 'import type { x } from "../operations/x.ts";',
      "services/event-bus/work/a.ts": 'import type { x } from "../open.ts";\nimport { y } from "../store/a.ts";',
      "services/event-bus/open.ts": 'import { x } from "./work/a.ts";',
    },
    ["services/event-bus/store/a.ts", "services/event-bus/work/a.ts"],
  ],
  [
    "no import leads in a circle, types included",
    {
      "gateway/a.ts": 'import type { b } from "./b.ts";',
      "gateway/b.ts": 'import { c } from "./c.ts";\nimport { d } from "./d.ts";',
      "gateway/c.ts": 'import { a } from "./a.ts";',
      "gateway/d.ts": "",
    },
    ["gateway/a.ts"],
  ],
  [
    "each RPC has a handler of its name or is pending, and no handler is without its RPC",
    {
      [serviceProto]:
        "  rpc PutRule(A) returns (B);\n  rpc DeleteRule(A) returns (B);\n  rpc ListRules(A) returns (B);",
      "services/event-bus/service.ts": 'pending(Service, "listRules")',
      [handler]: "export const putRule = async () => ({});\nexport const enrich = 1;",
      "services/event-bus/operations/table.ts": "export const rows = {\n  deleteRules: refused,\n};",
    },
    [serviceProto, handler, "services/event-bus/operations/table.ts"],
  ],
  [
    "each handler is named by the test of its path or by the title of a block",
    {
      [serviceProto]:
        "  rpc PutRule(A) returns (B);\n  rpc DeleteRule(A) returns (B);\n  rpc ListRules(A) returns (B);",
      [handler]: "export const putRule = 1;\nexport const deleteRule = 1;\nexport const listRules = 1;",
      "test/event-bus/operations/rule.test.ts": "client.putRule(); // not deleteRule\nclient.DeleteRule();",
      "test/event-bus/operations/target.test.ts": 'client.deleteRule();\ndescribe("listRules", () => {});',
    },
    ["test/event-bus/operations/rule.test.ts"],
  ],
  [
    "each export is used, and not only by tests",
    {
      "gateway/a.ts": [
        "export const used = 1;",
        "export const inside = used;",
        "export const tested = inside;",
        "export const testedAndInside = 1;",
        "export const nowhere = testedAndInside; // nowhere",
        "export interface Shown {}",
        "export type Lost = Shown;",
      ].join("\n"),
      "gateway/b.ts": 'import {\n  type Other,\n  used as kept,\n} from "./a.ts";',
      "test/a.test.ts": 'import { tested, testedAndInside } from "../gateway/a.ts";',
    },
    Array(4).fill("gateway/a.ts"),
  ],
  ["nothing is left for later without a condition", { "gateway/a.ts": "// TODO: more" }, ["gateway/a.ts"]],
  ["a skipped or focused test gives its reason", { "test/a.test.ts": "test.skip('x')" }, ["test/a.test.ts"]],
  ["an exemption from lint or types gives its reason", { "gateway/a.ts": "// @ts-expect-error" }, ["gateway/a.ts"]],
  [
    "comments are at most 120 columns wide",
    {
      "gateway/a.ts": `const a = 1; // ${"b".repeat(120)}`,
      "gateway/b.ts": `const b = "${"b".repeat(120)}"; // fine`.slice(0, 120),
      "proto/a.proto": `  // ${"b".repeat(120)}`,
      "test/a.ts": ` * ${"b".repeat(120)}\nconst a = "// ${"b".repeat(120)}";`,
    },
    ["gateway/a.ts", "proto/a.proto", "test/a.ts"],
  ],
  [
    "the kit holds no domain word",
    { "services/kit/a.ts": "const bucket = 1;", "services/kit/b.ts": "/** For the event bus. */" },
    ["services/kit/a.ts", "services/kit/b.ts"],
  ],
  ["comments use the words of the field", { "gateway/a.ts": "// Reads it anew." }, ["gateway/a.ts"]],
  ["links in documents resolve", { "README.md": "# A\n[b](b.md)" }, ["README.md"]],
  [
    "npm commands in documents exist",
    { "package.json": '{"scripts":{"test":"x"}}', "README.md": "# A\n`npm run tset`" },
    ["README.md"],
  ],
  [
    "paths in documents exist",
    {
      "README.md":
        "# A\n`test/a.ts`, `test/*.ts`, `test/<name>.ts` and `a.ts`; `data/x` is not of the repository\n```\nbash test/run.sh\n```",
      "test/README.md": "# B\n`b.ts`, `test/a.ts` and `a.ts`, `maintenance/a.ts`",
      "test/a.ts": "",
    },
    ["README.md", "test/README.md", "test/README.md"],
  ],
  ["each document has one title", { "README.md": "# A\n# B" }, ["README.md"]],
  [
    "decisions have numbers of their own",
    {
      "services/decisions/0001-a.md": "# 0001: A\n",
      "services/decisions/0001-b.md": "# 0001: B\n",
      "services/decisions/0002-c.md": "# 0003: C\n",
      "services/decisions/README.md": "# Decisions\n",
    },
    ["0001-a", "0001-b", "0002-c"].map((name) => `services/decisions/${name}.md`),
  ],
  [
    "decisions have 40 lines at most",
    {
      "services/decisions/0001-a.md": `# 0001: A\n${"a\n".repeat(40)}`,
      "services/decisions/0002-b.md": `# 0002: B\n${"b\n".repeat(39)}`,
    },
    ["services/decisions/0001-a.md"],
  ],
];

describe("each rule", () => {
  test.each(samples)("finds what breaks it: %s", (name, broken, paths) => {
    const rule = rules.find((each) => each.name === name);
    expect(rule?.check(new Map(Object.entries(broken))).map((finding) => finding.path)).toEqual(paths);
  });

  test("has a failing sample", () => {
    expect(samples.map(([name]) => name).toSorted()).toEqual(rules.map((rule) => rule.name).toSorted());
  });
});
