import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { eventually } from "./eventually.ts";

/** One line that a process logged. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly name: string; readonly msg: string };

/** An installation as `npm start` runs it, with all that its five processes and their launcher write. */
export interface LoggedSystem {
  readonly gatewayUrl: string;
  /** Of the launcher. */
  readonly pid: number;
  /** Everything on standard output and standard error so far. */
  output(): string;
  /** The lines among it, as far as they are JSON. */
  lines(): LogLine[];
  /** The addresses that a process told, by purpose. */
  urls(name: string): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, "..", "..");

/** How the launcher of an installation is started, where it is not this checkout's as the same user. */
export interface LaunchOptions {
  /** Added to the environment of all its processes. */
  readonly env?: NodeJS.ProcessEnv;
  /** The copy of the repository that is started. */
  readonly checkout?: string;
  /** The program and arguments before the flags; unset: this Node and the launcher's script. */
  readonly command?: readonly string[];
  /** The user and group that it runs as. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Drops what is written once all are ready, for a load under which that is too much to keep. */
  readonly isQuiet?: boolean;
}

/** Starts an installation on free ports. */
export const startLoggedSystem = async (
  dataDir: string,
  logLevel: string,
  { env = {}, checkout = root, command, user, isQuiet = false }: LaunchOptions = {},
): Promise<LoggedSystem> => {
  const [program = "", ...argv] = command ?? [process.execPath, join(checkout, "services", "launch.ts")];
  const launcher = spawn(program, [...argv, "--free-ports", `--log-level=${logLevel}`, `--data-dir=${dataDir}`], {
    cwd: command === undefined ? process.cwd() : checkout,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    ...user,
  });
  const chunks: Buffer[] = [];
  launcher.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  launcher.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const output = (): string => Buffer.concat(chunks).toString("utf8");
  const lines = (): LogLine[] => output().split("\n").flatMap(parseLine);
  const find = (name: string, msg: string): LogLine | undefined =>
    lines().find((line) => line.name === name && line.msg === msg);
  try {
    const ready = await eventually(
      () => find("launcher", "all are ready") ?? (launcher.exitCode === null ? undefined : "ended"),
      "all processes are ready",
      60_000,
    );
    if (ready === "ended") throw new Error(`the launcher ended:\n${output()}`);
    if (isQuiet) for (const stream of [launcher.stdout, launcher.stderr]) stream.removeAllListeners("data").resume();
    return {
      gatewayUrl: String(ready["gatewayUrl"]),
      pid: launcher.pid ?? 0,
      output,
      lines,
      urls: (name) => (find(name, "ready") ?? {}) as unknown as Record<string, string>,
      stop: () => stop(launcher),
    };
  } catch (error) {
    await stop(launcher);
    throw error;
  }
};

const parseLine = (text: string): LogLine[] => {
  if (!text.startsWith("{")) return [];
  try {
    return [JSON.parse(text) as LogLine];
  } catch {
    // The end of what has arrived so far may be half a line.
    return [];
  }
};

const stop = async (launcher: ChildProcess): Promise<void> => {
  if (launcher.exitCode !== null) return;
  const ended = once(launcher, "close");
  launcher.kill("SIGTERM");
  await ended;
};
