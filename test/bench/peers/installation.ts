import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ProcessName } from "../../../services/launcher/processes.ts";
import { processNames } from "../../../services/launcher/processes.ts";
import { startSystem } from "../../support/system.ts";

/** An installation that runs, as its process reports it. */
export interface InstallationPeer {
  readonly gatewayUrl: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly pids: Readonly<Record<ProcessName, number | undefined>>;
  /** All processes of the gateway. */
  readonly gatewayPids: readonly (number | undefined)[];
}

/**
 * A process with an installation on a directory of its own, at the default log level: its output is the access log, for
 * whoever started it to drop. It ends, and removes the directory, when its parent disconnects.
 */
const dataDir = await mkdtemp(join(tmpdir(), "quartet-bench-"));
const system = await startSystem(dataDir, "info");
const { installation, accessKeyId, secretAccessKey } = system;
const report: InstallationPeer = {
  gatewayUrl: installation.gatewayUrl,
  accessKeyId,
  secretAccessKey,
  pids: Object.fromEntries(processNames.map((name) => [name, installation.pid(name)])) as InstallationPeer["pids"],
  gatewayPids: installation.gatewayPids(),
};
process.on("disconnect", () => {
  void system.stop().then(async () => {
    await rm(dataDir, { recursive: true });
    process.exit(0);
  });
});
process.send?.(report);
