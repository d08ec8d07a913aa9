import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import { findPrivateAddress } from "../../kit/network/private-addresses.ts";

/** Which addresses may be connected to, and how names are resolved. */
export interface AddressRules {
  /** Whether services may have private, loopback and link-local addresses. */
  readonly allowsPrivate: boolean;
  /** All addresses of a name; rejects if it has none. */
  readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
}

/** The installation does not allow an address of a name. */
export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
}

/** Resolves names as the machine does: hosts file, then DNS. */
export const systemResolve = (hostname: string): Promise<LookupAddress[]> => lookup(hostname, { all: true });

/**
 * The addresses of a host name or address. Rejects with AddressRefusedError if one of them is private and private
 * addresses are not allowed, and with the resolver's error if the name has none.
 */
export const resolveAllowed = async (hostname: string, rules: AddressRules): Promise<LookupAddress[]> => {
  const family = isIP(hostname);
  const found = family === 0 ? await rules.resolve(hostname) : [{ address: hostname, family }];
  const refused = rules.allowsPrivate ? undefined : findPrivateAddress(found);
  if (refused !== undefined)
    throw new AddressRefusedError(`${hostname} has the private address ${refused}, which this installation refuses`);
  return found;
};
