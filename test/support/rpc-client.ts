import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";

import { createTransport } from "../../services/kit/client/transport.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createMinter } from "../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../services/kit/process/keys-directory.ts";

export interface RpcClientOptions<S extends DescService> {
  readonly service: S;
  readonly address: string;
  /** The name of the called service in tokens. */
  readonly audience: string;
  /** Where the gateway's key is, with which the calls are signed. */
  readonly dataDir: string;
  /** The account whose root calls. Unset: the first account. */
  readonly accountId?: string;
}

/** A client of one RPC service of an installation, in the name of a root; close it after use. */
export const openRpcClient = async <S extends DescService>(
  options: RpcClientOptions<S>,
): Promise<{ readonly client: Client<S>; close(): Promise<void> }> => {
  const { service, address, audience, dataDir, accountId = "000000000000" } = options;
  const keyPair = await ensureKeyPair(keysDirectory({ dataDir }), "gateway");
  const minter = createMinter({ keyPair, clock: systemClock });
  const token = () => minter.mint(rootCaller(accountId), audience);
  const transport = createTransport({ address, engine: "connect", token });
  return { client: createClient(service, transport), close: () => transport.close() };
};
