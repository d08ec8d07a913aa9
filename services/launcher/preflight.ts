import { access, constants } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";

import type { Address, ConfigSources } from "../kit/config/config.ts";
import { formatAddress, variableName } from "../kit/config/config.ts";
import { makeDirectory } from "../kit/files/directories.ts";
import { startFailure } from "../kit/process/start-failure.ts";
import { forgetEndpoint } from "./endpoint.ts";
import { listenAddresses } from "./private-targets.ts";
import { processNames, serviceNames } from "./processes.ts";

/** What is looked at before anything starts. */
export interface PreflightOptions {
  readonly dataDir: string;
  /** The system chooses every port, so none can be taken. */
  readonly usesFreePorts: boolean;
  /** The settings of the processes: the launcher's arguments, the environment, the directory. */
  readonly sources: ConfigSources;
}

/**
 * Checks what would end a process during its start: its settings, the data directory, the addresses. Forgets where an
 * earlier installation in the directory answered. Throws ConfigError for a setting, and an Error whose message is one
 * sentence for the rest.
 */
export const checkStart = async ({ dataDir, usesFreePorts, sources }: PreflightOptions): Promise<void> => {
  const listeners = processNames.flatMap((process) =>
    Object.entries(listenAddresses(process, sources)).map(([setting, address]) => ({ process, setting, address })),
  );
  await checkDirectory(dataDir);
  // That of an installation that was killed: nothing runs in the directory, whatever becomes of this start.
  await forgetEndpoint(dataDir);
  if (usesFreePorts) return;
  const problems = await Promise.all(listeners.map(({ address }) => findListenProblem(address)));
  const taken = listeners.flatMap(({ process, setting, address }, index) =>
    problems[index] === undefined ? [] : [`${formatAddress(address)} (${variableName(setting, process)})`],
  );
  const [first] = problems.filter((problem) => problem !== undefined);
  if (first === undefined) return;
  if (first !== "EADDRINUSE")
    throw new Error(`${taken.join(", ")} cannot be listened on (${first}); set another address`);
  const verb = taken.length === 1 ? "is" : "are";
  throw new Error(`${taken.join(", ")} ${verb} in use by another program; set other addresses, or pass --free-ports`);
};

/** Creates the data directory if it is absent. Throws if it cannot be written, or if an installation runs in it. */
const checkDirectory = async (dataDir: string): Promise<void> => {
  try {
    await makeDirectory(dataDir);
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(startFailure(error) ?? (await directoryProblem(dataDir, error)), { cause: error });
  }
  const answers = await Promise.all(serviceNames.map((name) => isAnswered(join(dataDir, "sockets", `${name}.sock`))));
  if (answers.includes(true))
    throw new Error(`the data directory ${dataDir} is in use by a running Quartet; stop it, or set another dataDir`);
};

/** Node says that a directory is absent where its parent is on a file system that cannot be written. */
const directoryProblem = async (dataDir: string, error: unknown): Promise<string> => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EEXIST") return `${dataDir} is a file; set another dataDir`;
  const parentProblem: unknown = await access(dirname(dataDir), constants.W_OK).catch((cause: unknown) => cause);
  return startFailure(parentProblem) ?? `the data directory ${dataDir} cannot be used (${code}); set another dataDir`;
};

/** Whether a process accepts connections on a unix socket. */
const isAnswered = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ path });
    socket.setTimeout(connectMs, () => socket.destroy());
    socket.once("connect", () => {
      resolve(true);
      socket.destroy();
    });
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
  });

const connectMs = 1_000;

/** The system's code of why an address cannot be listened on; undefined if it can. */
const findListenProblem = ({ host, port }: Address): Promise<string | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code ?? "error"));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
