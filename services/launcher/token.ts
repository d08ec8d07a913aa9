import { ConfigError, loadConfig } from "../kit/config/config.ts";
import { systemClock } from "../kit/clock/clock.ts";
import { defaultAccountId } from "../kit/identity/access-keys.ts";
import { isAccountId, rootCaller } from "../kit/identity/caller.ts";
import { ensureKeyPair } from "../kit/identity/key-files.ts";
import { createMinter } from "../kit/identity/tokens.ts";
import { keysDirectory } from "../kit/process/service-process.ts";
import { serviceNames } from "./processes.ts";
import { installation } from "./settings.ts";

/**
 * Prints a token with which a person calls the services by RPC as the root of an account:
 * `npm run --silent token -- --account 000000000000`. It is signed with the gateway's key, so it needs to read the
 * data directory, and lives as long as the gateway's own tokens.
 */
const argv = process.argv.slice(2);
const at = argv.indexOf("--account");
const account = at === -1 ? undefined : argv.splice(at, 2)[1];
try {
  const config = loadConfig(installation, "token", {}, { argv, env: process.env, directory: process.cwd() });
  const accountId = account ?? defaultAccountId;
  if (!isAccountId(accountId)) throw new ConfigError("--account takes 12 digits");
  const keyPair = await ensureKeyPair(keysDirectory(config.dataDir), "gateway");
  const minter = createMinter({ keyPair, clock: systemClock });
  process.stdout.write(`${await minter.mint(rootCaller(accountId), serviceNames)}\n`);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`token: ${error.message}\n`);
  process.exit(2);
}
