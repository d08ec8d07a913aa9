import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { createClient } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createMinter } from "../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../services/kit/process/service-process.ts";
import type { EventBusClient } from "./harness.ts";
import { ownerAccount } from "./harness.ts";

/** The service as a process of its own, called as the gateway calls it. */
export interface ServiceProcess {
  readonly client: EventBusClient;
  /** Ends the process without a warning, as `kill -9` does. */
  kill(): Promise<void>;
}

const main = join(import.meta.dirname, "../../services/event-bus/main.ts");

/** Starts the service on the data directory, with settings as variables, and waits until it is ready. */
export const startServiceProcess = async (
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> => {
  const keyPair = await ensureKeyPair(keysDirectory(dataDir), "gateway");
  const minter = createMinter({ keyPair, clock: systemClock });
  const child: ChildProcess = fork(main, {
    env: {
      ...process.env,
      QUARTET_DATA_DIR: dataDir,
      QUARTET_LOG_LEVEL: "silent",
      QUARTET_EVENT_BUS_LISTEN: "127.0.0.1:0",
      ...settings,
    },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  const [message] = (await Promise.race([
    once(child, "message"),
    exited.then(() => Promise.reject(new Error("the service ended before it was ready"))),
  ])) as [{ urls: { rpc: string } }];
  const transport = createTransport({
    address: message.urls.rpc,
    engine: "connect",
    token: () => minter.mint(rootCaller(ownerAccount), "event-bus"),
  });
  onTestFinished(() => transport.close());
  return { client: createClient(EventBusService, transport), kill };
};
