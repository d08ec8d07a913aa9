import { join } from "node:path";

import { ConfigError, loadConfig } from "../kit/config/config.ts";
import { addMasterKey, masterKeysFile, MasterKeysError } from "../kit/keyring/master-keys.ts";
import { processes, processNames } from "./processes.ts";
import { installation } from "./settings.ts";

/**
 * Adds a master key with which a service wraps its data keys from now on:
 * `npm run rotate-master-key -- --service customer-profile`. A running service reads it within a second and then wraps
 * its stored data keys again; until then, and for backups, the older keys stay in the file.
 */
const servicesWithKeys: readonly string[] = processNames.filter((name) => processes[name].hasMasterKeys);
const argv = process.argv.slice(2);
const at = argv.indexOf("--service");
const service = at === -1 ? undefined : argv.splice(at, 2)[1];
try {
  const config = loadConfig(
    installation,
    "rotate-master-key",
    {},
    { argv, env: process.env, directory: process.cwd() },
  );
  if (service === undefined || !servicesWithKeys.includes(service))
    throw new ConfigError(`--service must be one of ${servicesWithKeys.join(", ")}`);
  const path = masterKeysFile(join(config.dataDir, service));
  const { version, id } = await addMasterKey(path);
  process.stdout.write(`${path}: master key ${version} (${id}) was added\n`);
} catch (error) {
  if (!(error instanceof ConfigError) && !(error instanceof MasterKeysError)) throw error;
  process.stderr.write(`rotate-master-key: ${error.message}\n`);
  process.exit(2);
}
