import { join } from "node:path";

import { ConfigError } from "../kit/config/config.ts";
import { addMasterKey, masterKeysFile } from "../kit/keyring/master-keys.ts";
import { processes, processNames } from "./processes.ts";
import { runTool } from "./tool.ts";

const servicesWithKeys: readonly string[] = processNames.filter((name) => processes[name].hasMasterKeys);

/**
 * Adds a master key with which a service wraps its data keys from now on. A running service reads it within a second
 * and then wraps its stored data keys again; until then, and for backups, the older keys stay in the file.
 */
await runTool({
  name: "rotate-master-key",
  about: ["Adds a master key with which a service wraps its data keys from now on."],
  flag: { name: "service", value: "NAME", description: `The service: ${servicesWithKeys.join(" or ")}.` },
  run: async ({ dataDir }, service) => {
    if (service === undefined || !servicesWithKeys.includes(service))
      throw new ConfigError(`--service must be one of ${servicesWithKeys.join(", ")}`);
    const path = masterKeysFile(join(dataDir, service));
    const { version, id } = await addMasterKey(path);
    return `${path}: master key ${version} (${id}) was added`;
  },
});
