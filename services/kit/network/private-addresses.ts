import { BlockList, isIP } from "node:net";

/** IPv4 networks that the public internet does not route to (IANA special-purpose registry), multicast and reserved. */
const privateFour = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const;

const privateSix = [
  // Forms that carry an IPv4 address: compatible, translated, Teredo, 6to4.
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2001::", 32],
  ["2002::", 16],
  ["100::", 64],
  ["2001:db8::", 32],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const;

const privateAddresses = new BlockList();
for (const [network, prefix] of privateFour) privateAddresses.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of privateSix) privateAddresses.addSubnet(network, prefix, "ipv6");

/**
 * Whether an IP address is not of the public internet. An IPv4 address mapped into IPv6 (`::ffff:a.b.c.d`) counts as
 * the IPv4 address. Text that is no address counts as private.
 */
export const isPrivateAddress = (address: string): boolean => {
  const family = isIP(address);
  return family === 0 || privateAddresses.check(address, family === 6 ? "ipv6" : "ipv4");
};

const privateNetworks = new BlockList();
privateNetworks.addSubnet("10.0.0.0", 8, "ipv4");
privateNetworks.addSubnet("172.16.0.0", 12, "ipv4");
privateNetworks.addSubnet("192.168.0.0", 16, "ipv4");
privateNetworks.addSubnet("fc00::", 7, "ipv6");

/** Where machines of a cloud ask for their own credentials. */
const metadataAddresses = new BlockList();
metadataAddresses.addSubnet("fd00:ec2::", 32, "ipv6");

/**
 * Whether an IP address is one that private networks assign to their machines (RFC 1918 and RFC 4193), in contrast to
 * loopback, link-local and reserved addresses.
 */
export const isPrivateNetworkAddress = (address: string): boolean => {
  const family = isIP(address);
  const kind = family === 6 ? "ipv6" : "ipv4";
  return family !== 0 && privateNetworks.check(address, kind) && !metadataAddresses.check(address, kind);
};

/** The host name of a URL without the brackets of an IPv6 address. */
export const hostnameOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/**
 * The first private address of a name's addresses; undefined if all are public. One private address among public ones
 * makes the whole name private, because whoever controls the name chooses which one is used.
 */
export const findPrivateAddress = (addresses: readonly { readonly address: string }[]): string | undefined =>
  addresses.find(({ address }) => isPrivateAddress(address))?.address;
