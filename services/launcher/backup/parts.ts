import { fork } from "node:child_process";

import type { Reports, StoredTask, TaskMessage } from "../../kit/backup/tasks.ts";
import { taskFlag } from "../../kit/backup/tasks.ts";
import { ConfigError } from "../../kit/config/config.ts";
import type { ProcessName } from "../processes.ts";
import { runner } from "../processes.ts";

/** How tasks are run. */
export interface PartOptions {
  /** Settings as flags, passed to each process. */
  readonly settings: readonly string[];
  /** Receives lines that say how far a task is. */
  report(line: string): void;
}

/**
 * Runs a task in a process of its own, by the program of the process whose data it is about. Throws ConfigError with
 * the sentence of a task that fails.
 */
export const runPart = async <Task extends StoredTask>(
  name: ProcessName,
  task: Task,
  { settings, report }: PartOptions,
): Promise<Reports[Task["verb"]]> => {
  const child = fork(runner, [name, `${taskFlag}${JSON.stringify(task)}`, ...settings], { execArgv: [] });
  let result: Reports[Task["verb"]] | undefined;
  let failure: string | undefined;
  child.on("message", (message: TaskMessage) => {
    if ("progress" in message) report(`${name}: ${message.progress}`);
    else if ("failed" in message) failure = message.failed;
    else result = message.report as Reports[Task["verb"]];
  });
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
  if (result !== undefined) return result;
  throw new ConfigError(
    `${name}: ${failure ?? `ended with ${child.signalCode ?? child.exitCode} before its task did`}`,
  );
};
