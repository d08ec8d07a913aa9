import { lookup } from "node:dns";
import { BlockList, isIP } from "node:net";
import type { LookupFunction } from "node:net";

/** A target that this installation may not send to. */
export class ForbiddenAddressError extends Error {
  override readonly name = "ForbiddenAddressError";
}

/** Decides where outgoing requests may go. */
export interface AddressGuard {
  /** Throws ForbiddenAddressError for a URL that may not be requested, as far as the URL itself tells. */
  check(url: URL): void;
  /** Resolves names for connections; fails with ForbiddenAddressError when any address may not be reached. */
  readonly lookup: LookupFunction;
}

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
  // What carries an IPv4 address, of any kind: compatible, mapped, translated, Teredo, 6to4.
  ["::", 96],
  ["::ffff:0:0", 96],
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

// Two lists, because one list takes every IPv4 address for a mapped IPv6 one.
const fourRanges = new BlockList();
const sixRanges = new BlockList();
for (const [address, bits] of privateFour) fourRanges.addSubnet(address, bits, "ipv4");
for (const [address, bits] of privateSix) sixRanges.addSubnet(address, bits, "ipv6");

/** True for an address that does not belong to the public internet. */
export const isPrivateAddress = (address: string): boolean =>
  isIP(address) === 6 ? sixRanges.check(address, "ipv6") : fourRanges.check(address, "ipv4");

/** Makes the guard. Unless private targets are allowed, only https to public addresses may be requested. */
export const createAddressGuard = (allowsPrivate: boolean): AddressGuard => ({
  check(url) {
    if (url.protocol !== "https:" && url.protocol !== "http:")
      throw new ForbiddenAddressError(`${url.protocol} cannot be requested`);
    if (allowsPrivate) return;
    if (url.protocol !== "https:") throw new ForbiddenAddressError("only https may be requested");
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && isPrivateAddress(host)) throw new ForbiddenAddressError(`${host} is a private address`);
  },

  // The address is checked where it is resolved, so that a name cannot point elsewhere a moment later.
  lookup(hostname, options, callback) {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const forbidden = allowsPrivate ? undefined : addresses?.find(({ address }) => isPrivateAddress(address));
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? notFound(hostname), "", 0);
      else if (forbidden !== undefined)
        callback(new ForbiddenAddressError(`${hostname} is at the private address ${forbidden.address}`), "", 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  },
});

const notFound = (hostname: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" });
