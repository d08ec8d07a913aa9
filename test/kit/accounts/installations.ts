import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Accounts } from "../../../services/kit/accounts/accounts.ts";
import { openAccounts } from "../../../services/kit/accounts/accounts-file.ts";
import { accountSections } from "../../../services/kit/accounts/declaration.ts";
import { text } from "../../../services/kit/config/config.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** A directory with a quartet.json and the files that it names. */
export interface DeclaredInstallation {
  readonly directory: string;
  readonly clock: FakeClock;
  /** What was logged, as `level: reason`. */
  readonly lines: readonly string[];
  /** Writes a file of the directory. */
  write(path: string, content: string | object): Promise<void>;
  open(environment?: Record<string, string>): Accounts;
}

/** Makes a directory with these files, relative paths to contents. */
export const declaredInstallation = async (
  files: Readonly<Record<string, string | object>>,
): Promise<DeclaredInstallation> => {
  const directory = await temporaryDirectory();
  const clock = new FakeClock();
  const lines: string[] = [];
  const write = async (path: string, content: string | object): Promise<void> => {
    const whole = join(directory, path);
    await mkdir(dirname(whole), { recursive: true });
    await writeFile(whole, typeof content === "string" ? content : JSON.stringify(content));
  };
  for (const [path, content] of Object.entries(files)) await write(path, content);
  const note = (level: string) => (facts: { reason?: string; accessKeyId?: string }, message: string) =>
    lines.push(`${level}: ${facts.reason ?? facts.accessKeyId ?? message}`);
  return {
    directory,
    clock,
    lines,
    write,
    open: (environment) =>
      openAccounts({
        installation: { shared: { dataDir: text("./data", "Data.") }, processes: {}, sections: accountSections },
        file: { path: join(directory, "quartet.json"), isNamed: false },
        clock,
        log: { info: note("info"), error: note("error") } as never,
        ...(environment === undefined ? {} : { environment }),
      }),
  };
};

/** A policy that allows one action on everything, or on one resource. */
export const allowing = (action: string, resource = "*"): object => ({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: action, Resource: resource }],
});
