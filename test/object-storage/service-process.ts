import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { CallOptions, Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createMinter } from "../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../services/kit/process/service-process.ts";
import { alice } from "./harness.ts";

/** The service as a process of its own, called as the gateway calls it. */
export interface ServiceProcess {
  readonly client: Client<typeof ObjectStorageService>;
  readonly options: CallOptions;
  /** Ends the process without a warning, as `kill -9` does. */
  kill(): Promise<void>;
  /** The most memory that the process had so far, in bytes. */
  peakMemoryBytes(): Promise<number>;
}

const main = join(import.meta.dirname, "../../services/object-storage/main.ts");

/** Starts the service on the data directory and waits until it is ready. */
export const startServiceProcess = async (dataDir: string): Promise<ServiceProcess> => {
  const keyPair = await ensureKeyPair(keysDirectory(dataDir), "gateway");
  const token = await createMinter({ keyPair, clock: systemClock }).mint(rootCaller(alice), "object-storage");
  const child: ChildProcess = fork(main, {
    env: {
      ...process.env,
      QUARTET_DATA_DIR: dataDir,
      QUARTET_LOG_LEVEL: "silent",
      QUARTET_OBJECT_STORAGE_LISTEN: "127.0.0.1:0",
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
  const transport = createTransport({ address: message.urls.rpc, engine: "connect" });
  onTestFinished(() => transport.close());
  return {
    client: createClient(ObjectStorageService, transport),
    options: { headers: { authorization: `Bearer ${token}` } },
    kill,
    async peakMemoryBytes() {
      const status = await readFile(`/proc/${child.pid}/status`, "utf8");
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
    },
  };
};
