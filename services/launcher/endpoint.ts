import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { ConfigError } from "../kit/config/config.ts";
import { readTextFile } from "../kit/config/text-file.ts";

const urlBytesMax = 4_096;

/** The file in which `npm start` notes where its gateway answers, for tools that start later. */
const endpointFile = (dataDir: string): string => join(dataDir, "gateway", "endpoint");

/** Notes the base URL of the gateway; a tool that reads it meanwhile finds the former one or this one, whole. */
export const noteEndpoint = async (dataDir: string, url: string): Promise<void> => {
  const path = endpointFile(dataDir);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.next`, `${url}\n`, { mode: 0o600 });
  await rename(`${path}.next`, path);
};

/** Forgets the base URL of a gateway that does not run any more. */
export const forgetEndpoint = (dataDir: string): Promise<void> => rm(endpointFile(dataDir), { force: true });

/** The base URL of the gateway that runs in the data directory; undefined if none does. Throws ConfigError. */
export const readEndpoint = (dataDir: string): string | undefined => {
  const path = endpointFile(dataDir);
  const url = readTextFile(path, urlBytesMax)?.trim();
  if (url === undefined || /^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw new ConfigError(`${path} names no URL; stop the installation and start it again`);
};
