import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Transport } from "@connectrpc/connect";

import { createTransport } from "../../../services/kit/client/transport.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../../services/kit/identity/key-files.ts";
import { createMinter } from "../../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../../services/kit/process/keys-directory.ts";
import { processes } from "../../../services/launcher/processes.ts";
import { readyUrls } from "../../support/ready-urls.ts";

/** A service as a process of its own, as an installation runs it. */
export interface ServicePeer {
  /** Calls of the owner account, sent as the gateway sends them. */
  readonly transport: Transport;
  /** Milliseconds of CPU that the process has used. */
  cpuMs(): Promise<number>;
  /** Ends the process, which finishes what it is doing. */
  stop(): Promise<void>;
}

/** What the services need to serve a bench: events are delivered to targets on this machine. */
const flags = { "event-bus": ["--private-targets", "allow"], "object-storage": [] };

const services = join(import.meta.dirname, "../../../services");

/** Starts a service on the data directory, on a free port, and waits until it is ready. */
export const startService = async (name: "event-bus" | "object-storage", dataDir: string): Promise<ServicePeer> => {
  const keyPair = await ensureKeyPair(keysDirectory({ dataDir }), "gateway");
  const minter = createMinter({ keyPair, clock: systemClock });
  const child = fork(
    join(services, "run.cjs"),
    [name, "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--log-level", "error", ...flags[name]],
    { stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [...processes[name].nodeFlags] },
  );
  const exited = once(child, "exit");
  const { rpc = "" } = await readyUrls(child);
  const transport = createTransport({
    address: rpc,
    engine: "connect",
    token: () => minter.mint(rootCaller("000000000000"), name),
  });
  return {
    transport,
    async cpuMs() {
      const stat = await readFile(`/proc/${child.pid}/stat`, "utf8");
      // The fields after the name, which is in parentheses; user and system time are in hundredths of a second.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
    stop: async () => {
      await transport.close();
      child.kill("SIGTERM");
      await exited;
    },
  };
};
