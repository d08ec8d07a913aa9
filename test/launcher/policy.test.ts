import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { rules as customerProfile } from "../../services/customer-profile/access/guard.ts";
import { rules as eventBus } from "../../services/event-bus/access/rules.ts";
import { policyNames } from "../../services/launcher/policy-names.ts";
import { rules as objectStorage } from "../../services/object-storage/access/rules.ts";
import { rules as refactoringWorkspace } from "../../services/refactoring-workspace/access/guard.ts";
import { runProgram } from "../support/run-program.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const statement = {
  Sid: "Put",
  Effect: "Allow",
  Action: "events:PutEvents",
  Resource: "*",
  Condition: { StringEquals: { "events:source": "shop" } },
};
const alice = "arn:aws:iam::111122223333:user/alice";
const bus = "arn:aws:events:us-east-1:111122223333:event-bus/orders";
const asked = ["explain", "--principal", alice, "--action", "events:PutEvents", "--resource", bus];

/** A directory with a policy file, and a configuration that declares alice. */
const directoryWith = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, "alice.json"), JSON.stringify({ Version: "2012-10-17", Statement: [statement] }));
  await writeFile(
    join(directory, "quartet.json"),
    JSON.stringify({ accounts: { "111122223333": { users: [{ name: "alice", policies: ["alice.json"] }] } } }),
  );
  return directory;
};

test("explains by a policy file, with keys of the request", async () => {
  const cwd = await directoryWith();
  const run = (...more: string[]) => runProgram("services/launcher/policy.ts", [...asked, ...more], { cwd });
  expect(await run("--policies", "alice.json", "--context", "events:source=shop")).toEqual({
    status: 0,
    output: "allowed: a policy of the principal allows it\ndecided by: identity policy 0, statement 0 (Put)\n",
    errors: "",
  });
  // Without --policies, those of the configuration file.
  expect(await run("--context", "event-bus:source=bank")).toEqual({
    status: 1,
    output:
      "refused: nothing allows it\n" +
      "nearly matched: identity policy 0, statement 0 (Put), Allow; failed: condition events:source\n",
    errors: "",
  });
});

test("explains by a boundary", async () => {
  const cwd = await directoryWith();
  const limit = { Statement: { Sid: "Objects", Effect: "Allow", Action: "s3:*", Resource: "*" } };
  await writeFile(join(cwd, "limit.json"), JSON.stringify(limit));
  await writeFile(join(cwd, "several.json"), JSON.stringify([limit, limit]));
  const run = (boundary: string) =>
    runProgram("services/launcher/policy.ts", [...asked, "--context", "events:source=shop", "--boundary", boundary], {
      cwd,
    });
  expect(await run("limit.json")).toEqual({
    status: 1,
    output:
      "refused: the principal's permissions boundary does not allow it\n" +
      "nearly matched: boundary policy 0, statement 0 (Objects), Allow; failed: action\n",
    errors: "",
  });
  expect((await run("several.json")).errors).toBe("policy: --boundary is one document\n");
});

// argv, message
test.each([
  [[], "the command is explain; --help shows its flags"],
  [["explain"], "--principal is needed"],
  [["explain", "--principal"], "--principal needs a value"],
  [[...asked, "--context", "shop"], "--context takes KEY=VALUE"],
  [[...asked, "--action", "lambda:Invoke"], 'no service has actions like "lambda:Invoke"'],
  [[...asked, "--principal", "alice"], "--principal names no principal"],
  [[...asked, "--policies", "none.json"], "none.json does not exist"],
])("refuses %j", async (argv, message) => {
  const cwd = await directoryWith();
  const { status, errors } = await runProgram("services/launcher/policy.ts", argv, { cwd });
  expect([status, errors]).toEqual([2, `policy: ${message}\n`]);
});

test("knows the services by the names that they have in policies", () => {
  expect(policyNames).toMatchObject({
    "customer-profile": customerProfile.names,
    "refactoring-workspace": refactoringWorkspace.names,
    "event-bus": eventBus.names,
    "object-storage": { ...objectStorage.names, everything: objectStorage.everything },
  });
});
