import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";

import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { createTransport } from "../../services/kit/client/transport.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createMinter } from "../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../services/kit/process/keys-directory.ts";
import { processes, runner, serviceNames } from "../../services/launcher/processes.ts";
import { readyUrls } from "./ready-urls.ts";
import { ownerAccount } from "./service-harness.ts";

/** A service as a process of its own, called as the gateway calls it. */
export interface ServiceProcess<S extends DescService> {
  /** The owner account's calls. */
  readonly client: Client<S>;
  /** Where it serves RPCs and pages. */
  readonly url: string;
  /** A token with which the owner account's root calls it. */
  token(): Promise<string>;
  /** Ends the process without a warning, as `kill -9` does. */
  kill(): Promise<void>;
  /** Stops the process as SIGSTOP does: it keeps its connections and answers nothing. */
  pause(): void;
  /** Lets a paused process go on. */
  resume(): void;
  /** Whether the process has ended. */
  hasEnded(): boolean;
  readonly pid: number;
  /** The memory of the process. */
  memory(): Promise<ProcessMemory>;
  /** Milliseconds of CPU that the process has used. */
  cpuMs(): Promise<number>;
}

/** The resident memory of a process, in bytes. */
export interface ProcessMemory {
  /** The most that it had so far of both kinds together. */
  readonly peak: number;
  /** Its own. */
  readonly anonymous: number;
  /** Of files, which the system can drop and read again: the program, and tables of the database. */
  readonly files: number;
}

/** The flags of Node with which an installation starts the service of a folder. */
const flagsOf = (folder: string): readonly string[] =>
  serviceNames.filter((name) => name === folder).flatMap((name) => processes[name].nodeFlags);

/** Which service is started, and how. */
export interface ServiceProcessOptions<S extends DescService> {
  readonly service: S;
  /** The folder of its `main.ts` in services/; it runs from its bundle where that is of the present sources. */
  readonly folder: string;
  readonly dataDir: string;
  /** Settings as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Descriptor of the file that it logs to. Unset: it does not log. */
  readonly output?: number | undefined;
}

/** Starts a service on the data directory and waits until it is ready; it is killed when the test ends. */
export const startServiceProcess = async <S extends DescService>(
  options: ServiceProcessOptions<S>,
): Promise<ServiceProcess<S>> => {
  const { service, folder, dataDir, settings, output } = options;
  const keyPair = await ensureKeyPair(keysDirectory({ dataDir }), "gateway");
  const minter = createMinter({ keyPair, clock: systemClock });
  const child = fork(runner, [folder], {
    env: {
      ...process.env,
      QUARTET_DATA_DIR: dataDir,
      QUARTET_LOG_LEVEL: output === undefined ? "silent" : "debug",
      [`QUARTET_${folder.replaceAll("-", "_").toUpperCase()}_LISTEN`]: "127.0.0.1:0",
      ...settings,
    },
    stdio: ["ignore", output ?? "inherit", "inherit", "ipc"],
    execArgv: [...flagsOf(folder)],
  });
  const exited = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  const { rpc = "" } = await readyUrls(child);
  const token = (): Promise<string> => minter.mint(rootCaller(ownerAccount), folder);
  const transport = createTransport({ address: rpc, engine: "connect", token });
  onTestFinished(() => transport.close());
  return {
    client: createClient(service, transport),
    url: rpc,
    token,
    kill,
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    pid: child.pid ?? 0,
    async memory() {
      const status = await readFile(`/proc/${child.pid}/status`, "utf8");
      const bytesOf = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
      return { peak: bytesOf("VmHWM"), anonymous: bytesOf("RssAnon"), files: bytesOf("RssFile") };
    },
    async cpuMs() {
      const stat = await readFile(`/proc/${child.pid}/stat`, "utf8");
      // The fields after the name, which is in parentheses; user and system time are in hundredths of a second.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
  };
};
