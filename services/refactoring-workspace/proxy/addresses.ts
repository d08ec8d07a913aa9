import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

/** Whether addresses may be asked for, and how names become addresses. */
export interface AddressRules {
  /** Whether services may stand at private, loopback and link-local addresses. */
  readonly allowsPrivate: boolean;
  /** All addresses of a name; rejects when it has none. */
  readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
}

/** A name resolves only to addresses that the installation does not allow. */
export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
}

/** Addresses that are not reached over the public internet: loopback, private, link-local, shared, multicast, reserved. */
const privateAddresses = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const)
  privateAddresses.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of [
  ["::", 127],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  // Teredo and 6to4 carry IPv4 addresses of any kind.
  ["2001::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const)
  privateAddresses.addSubnet(network, prefix, "ipv6");

/** Whether an address is not of the public internet. IPv4 addresses mapped into IPv6 count as what they are. */
export const isPrivateAddress = (address: string): boolean =>
  privateAddresses.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** The host name of a URL without the brackets of an IPv6 address. */
export const hostnameOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/** Resolves names as the machine does: hosts file, then DNS. */
export const systemResolve = (hostname: string): Promise<LookupAddress[]> => lookup(hostname, { all: true });

/**
 * The addresses of a host name or address that may be asked. Rejects with AddressRefusedError when none may, and with
 * the resolver's error when the name has none.
 */
export const resolveAllowed = async (hostname: string, rules: AddressRules): Promise<LookupAddress[]> => {
  const family = isIP(hostname);
  const all = family === 0 ? await rules.resolve(hostname) : [{ address: hostname, family }];
  const allowed = rules.allowsPrivate ? all : all.filter((each) => !isPrivateAddress(each.address));
  if (allowed.length === 0)
    throw new AddressRefusedError(`${hostname} is a private address, which this installation does not allow`);
  return allowed;
};
