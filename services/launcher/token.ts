import { ConfigError } from "../kit/config/config.ts";
import { systemClock } from "../kit/clock/clock.ts";
import { defaultAccountId } from "../kit/identity/access-keys.ts";
import { isAccountId, rootCaller } from "../kit/identity/caller.ts";
import { ensureKeyPair } from "../kit/identity/key-files.ts";
import { createMinter } from "../kit/identity/tokens.ts";
import { keysDirectory } from "../kit/process/keys-directory.ts";
import { serviceNames } from "./processes.ts";
import { runTool } from "./tool.ts";

/** The services, and those that the gateway serves itself. */
const audience = [...serviceNames, "identity", "security-token"];

/**
 * Prints a token with which a person calls the services by RPC as the root of an account. It is signed with the
 * gateway's key, so it needs to read the data directory, and lives as long as the gateway's own tokens.
 */
await runTool({
  name: "token",
  about: ["Prints a token for calls by RPC as the root of an account. It is valid for five minutes."],
  flag: { name: "account", value: "ID", description: `The account, 12 digits; unset: ${defaultAccountId}.` },
  run: async (config, account = defaultAccountId) => {
    if (!isAccountId(account)) throw new ConfigError("--account takes 12 digits");
    const keyPair = await ensureKeyPair(keysDirectory(config), "gateway");
    return createMinter({ keyPair, clock: systemClock }).mint(rootCaller(account), audience);
  },
});
