import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { runProgram } from "../support/run-program.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = join(import.meta.dirname, "..", "..");
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };

// script, first line of its help, flags in it
const programs: ReadonlyArray<readonly [string, string, readonly string[]]> = [
  ["services/launch.ts", "Usage: npm start -- [flags]", ["--free-ports", "--config FILE", "--data-dir"]],
  ["services/event-bus/main.ts", "Usage: npm run start:event-bus -- [flags]", ["--print-config", "--buses-max"]],
  ["gateway/main.ts", "Usage: npm run start:gateway -- [flags]", ["--print-config", "--admin-listen"]],
  ["services/launcher/token.ts", "Usage: npm run --silent token -- [flags]", ["--account ID"]],
  ["services/launcher/policy.ts", "Usage: npm run --silent policy -- explain [flags]", ["--principal ARN", "--online"]],
  ["services/launcher/audit.ts", "Usage: npm run --silent audit -- verify [FILE...]", ["--data-dir"]],
  ["services/launcher/env.ts", "Usage: npm run --silent env -- [flags]", ["--data-dir"]],
  [
    "services/launcher/rotate-master-key.ts",
    "Usage: npm run --silent rotate-master-key -- [flags]",
    ["--service NAME"],
  ],
];

describe.each(programs)("%s", (script, usage, flags) => {
  test.each(["--help", "-h"])("%s prints usage, flags and settings", async (flag) => {
    const { status, output, errors } = await runProgram(script, [flag]);
    const lines = output.split("\n");
    expect([status, errors, lines[0]]).toEqual([0, "", usage]);
    for (const each of [...flags, "--help, -h", "--version"])
      expect(lines.some((line) => line.startsWith(`  ${each}`))).toBe(true);
  });

  test("--version prints the version of package.json", async () => {
    expect(await runProgram(script, ["--version"])).toEqual({ status: 0, output: `quartet ${version}\n`, errors: "" });
  });
});

test("the launcher's help lists the ports of all processes, whose settings are no flags there", async () => {
  const { output } = await runProgram("services/launch.ts", ["--help"]);
  expect(output).toContain("  listen  (QUARTET_EVENT_BUS_LISTEN; default 127.0.0.1:50053)");
  expect(output).toContain("  adminListen  (QUARTET_GATEWAY_ADMIN_LISTEN; default 127.0.0.1:8089)");
});

describe("env", () => {
  const started = async (secretAccessKey: string): Promise<string> => {
    const dataDir = await temporaryDirectory();
    await mkdir(join(dataDir, "gateway"));
    await writeFile(join(dataDir, "gateway", "endpoint"), "http://127.0.0.1:8080\n");
    const credentials = { version: 1, accessKeys: [{ accessKeyId: "QKIAFIRST", secretAccessKey }] };
    await writeFile(join(dataDir, "gateway", "credentials.json"), JSON.stringify(credentials));
    return dataDir;
  };

  test("prints the variables of the clients, quoted for a shell", async () => {
    const dataDir = await started("it's $HOME");
    const { status, output } = await runProgram("services/launcher/env.ts", ["--data-dir", dataDir]);
    expect([status, output.split("\n")]).toEqual([
      0,
      [
        "export AWS_ENDPOINT_URL=http://127.0.0.1:8080",
        "export AWS_REGION=us-east-1",
        "export AWS_DEFAULT_REGION=us-east-1",
        "export AWS_ACCESS_KEY_ID=QKIAFIRST",
        "export AWS_SECRET_ACCESS_KEY='it'\\''s $HOME'",
        "",
      ],
    ]);
  });

  test("prefers the root key of the environment", async () => {
    const dataDir = await started("of the file");
    const env = { QUARTET_ACCESS_KEY_ID: "QKIAROOT", QUARTET_SECRET_ACCESS_KEY: "of-the-environment" };
    const { output } = await runProgram("services/launcher/env.ts", ["--data-dir", dataDir], { env });
    expect(output).toContain("AWS_ACCESS_KEY_ID=QKIAROOT\nexport AWS_SECRET_ACCESS_KEY=of-the-environment\n");
  });

  test("says where it looked if nothing runs there", async () => {
    const dataDir = await temporaryDirectory();
    expect(await runProgram("services/launcher/env.ts", ["--data-dir", dataDir])).toEqual({
      status: 2,
      output: "",
      errors: `env: nothing runs in ${dataDir}; run npm start, or name another --data-dir\n`,
    });
  });
});

// argv, message
test.each([
  [["--account"], "token: --account needs a value"],
  [["--account=12"], "token: --account takes 12 digits"],
  [["--colour=red"], "token: token has no flag --colour; --help lists them"],
])("token refuses %j", async (argv, message) => {
  expect(await runProgram("services/launcher/token.ts", argv)).toEqual({
    status: 2,
    output: "",
    errors: `${message}\n`,
  });
});
