import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";

import { readEndpoint } from "../../services/launcher/endpoint.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = join(import.meta.dirname, "..", "..");

interface ReadyLine {
  readonly msg: string;
  readonly gatewayUrl: string;
  readonly accessKeyId: string;
  readonly credentialsFile: string;
}

interface Launched {
  readonly child: ChildProcess;
  readonly ready: ReadyLine;
  readonly lines: readonly string[];
}

const nodeLaunch = [process.execPath, "services/launch.ts"];
const npmStart = ["npm", "--silent", "start", "--"];

const launch = async (dataDir: string, [command = "", ...argv] = nodeLaunch): Promise<Launched> => {
  const child = spawn(command, [...argv, "--free-ports", "--data-dir", dataDir], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const ready = await eventually(
    () => lines.map((line) => JSON.parse(line) as ReadyLine).find((line) => line.msg === "all are ready"),
    "all are ready",
  );
  return { child, ready, lines };
};

const answers = async (url: string): Promise<boolean> => {
  try {
    await fetch(url);
    return true;
  } catch {
    return false;
  }
};

describe("npm start", () => {
  test("logs JSON where there is no terminal, names the key and keeps its secret to a file of mode 0600", async () => {
    const dataDir = await temporaryDirectory();
    const { child, ready, lines } = await launch(dataDir);
    const credentials = JSON.parse(await readFile(ready.credentialsFile, "utf8")) as {
      accessKeys: Array<{ accessKeyId: string; secretAccessKey: string; accountId: string }>;
    };
    expect(credentials.accessKeys.map((key) => [key.accessKeyId, key.accountId])).toEqual([
      [ready.accessKeyId, "000000000000"],
    ]);
    expect((await stat(ready.credentialsFile)).mode & 0o777).toBe(0o600);
    expect(lines.join("\n")).not.toContain(credentials.accessKeys[0]?.secretAccessKey);
    expect(readEndpoint(dataDir)).toBe(ready.gatewayUrl);

    child.kill("SIGINT");
    const [status] = (await once(child, "exit")) as [number];
    expect(status).toBe(0);
    expect(await answers(ready.gatewayUrl)).toBe(false);
    expect(readEndpoint(dataDir)).toBeUndefined();
  });

  test("drains when the npm that started it gets SIGTERM", async () => {
    const dataDir = await temporaryDirectory();
    const { child, ready } = await launch(dataDir, npmStart);
    const ended = once(child, "close");
    child.kill("SIGTERM");
    // Emitted when no process has its standard output any more.
    await ended;
    expect(await answers(ready.gatewayUrl)).toBe(false);
  });

  test("leaves no process running when the launcher is killed", async () => {
    const { child, ready } = await launch(await temporaryDirectory());
    const ended = once(child, "close");
    child.kill("SIGKILL");
    await ended;
    expect(await answers(ready.gatewayUrl)).toBe(false);
  });

  // arguments, message, status
  test.each([
    [["--colour=red"], "quartet: launcher has no flag --colour; --help lists them", 2],
    [["--log-level=loud"], "quartet: --log-level must be one of info, fatal, error, warn, debug, trace, silent", 2],
    [
      ["--secret-access-key", "hush"],
      "quartet: --secret-access-key would show a secret to all who list processes; " +
        "set QUARTET_SECRET_ACCESS_KEY or secretAccessKey in the configuration file",
      2,
    ],
  ])("refuses %j", async (argv, message, expected) => {
    const child = spawn(process.execPath, ["services/launch.ts", ...argv], {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    child.stderr.on("data", (part: Buffer) => (output += part.toString()));
    const [status] = (await once(child, "close")) as [number];
    expect([output.trim(), status]).toEqual([message, expected]);
  });
});
