import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { openMasterKeys } from "../../services/kit/keyring/master-keys.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const clock = new FakeClock();

/** Status, output and errors of `npm run rotate-master-key`. */
const rotate = async (...argv: readonly string[]): Promise<[number, string, string]> => {
  const child = spawn(process.execPath, ["services/launcher/rotate-master-key.ts", ...argv], {
    cwd: join(import.meta.dirname, "..", ".."),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return [status as number, out.trim(), errors.trim()];
};

test("rotate-master-key adds a master key to a service's file and prints its id, not the key", async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, "customer-profile", "master.keys");
  await openMasterKeys(path, { clock });
  const answer = await rotate("--service", "customer-profile", "--data-dir", directory);
  const { version, id } = (await openMasterKeys(path, { clock })).latest();
  expect([version, answer]).toEqual([2, [0, `${path}: master key 2 (${id}) was added`, ""]]);
});

// arguments, complaint
test.for([
  [[], "--service must be one of customer-profile, event-bus, object-storage, gateway"],
  [
    ["--service", "refactoring-workspace"],
    "--service must be one of customer-profile, event-bus, object-storage, gateway",
  ],
  [["--service", "event-bus", "--data-dir", "/nowhere"], "there is no /nowhere/event-bus/master.keys"],
] as const)("rotate-master-key with %j is refused", async ([argv, complaint]) => {
  expect(await rotate(...argv)).toEqual([2, "", `rotate-master-key: ${complaint}`]);
});
