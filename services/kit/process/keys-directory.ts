import { join } from "node:path";

/** The directory of the key pairs with which the installation's processes authenticate each other. */
export const keysDirectory = ({
  dataDir,
  keysDir = "",
}: {
  readonly dataDir: string;
  readonly keysDir?: string;
}): string => (keysDir === "" ? join(dataDir, "keys") : keysDir);
