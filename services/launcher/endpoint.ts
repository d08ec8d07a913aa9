import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The file in which `npm start` notes where its gateway answers, for tools that start later. */
const endpointFile = (dataDir: string): string => join(dataDir, "gateway", "endpoint");

/** Notes the base URL of the gateway. */
export const noteEndpoint = async (dataDir: string, url: string): Promise<void> => {
  const path = endpointFile(dataDir);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${url}\n`, { mode: 0o600 });
};

/** Forgets the base URL of a gateway that does not run any more. */
export const forgetEndpoint = (dataDir: string): Promise<void> => rm(endpointFile(dataDir), { force: true });

/** The base URL of the gateway that runs in the data directory; undefined if none does. */
export const readEndpoint = async (dataDir: string): Promise<string | undefined> => {
  try {
    return (await readFile(endpointFile(dataDir), "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};
