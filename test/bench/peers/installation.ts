import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../../services/kit/clock/clock.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../../services/kit/identity/key-files.ts";
import { createMinter, tokenLifetimeMsMax } from "../../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../../services/kit/process/keys-directory.ts";
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
  /** Where customer profiles are called directly, and a token of the owner account for 15 minutes. */
  readonly profiles: { readonly url: string; readonly token: string };
}

/**
 * A process with an installation on a directory of its own, at the default log level: its output is the access log, for
 * whoever started it to drop. It ends, and removes the directory, when its parent disconnects.
 */
const dataDir = await mkdtemp(join(tmpdir(), "quartet-bench-"));
const system = await startSystem(dataDir, "info");
const { installation, accessKeyId, secretAccessKey } = system;
const keyPair = await ensureKeyPair(keysDirectory({ dataDir }), "gateway");
const minter = createMinter({ keyPair, clock: systemClock, lifetimeMs: tokenLifetimeMsMax });
const report: InstallationPeer = {
  gatewayUrl: installation.gatewayUrl,
  accessKeyId,
  secretAccessKey,
  pids: Object.fromEntries(processNames.map((name) => [name, installation.pid(name)])) as InstallationPeer["pids"],
  gatewayPids: installation.gatewayPids(),
  profiles: {
    url: installation.urls("customer-profile")["rpc"] ?? "",
    token: await minter.mint(rootCaller("000000000000"), "customer-profile"),
  },
};
process.on("disconnect", () => {
  void system.stop().then(async () => {
    await rm(dataDir, { recursive: true });
    process.exit(0);
  });
});
process.send?.(report);
