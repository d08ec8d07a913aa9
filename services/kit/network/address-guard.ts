import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";

import { findPrivateAddress, hostnameOf, isPrivateAddress } from "./private-addresses.ts";

/** The installation does not allow requests to this target. */
export class ForbiddenAddressError extends Error {
  override readonly name = "ForbiddenAddressError";
}

/** Decides where outgoing requests may go. */
export interface AddressGuard {
  /** Throws ForbiddenAddressError if the URL itself shows that it may not be requested. */
  check(url: URL): void;
  /** Resolves the names of connections; fails with ForbiddenAddressError if any address is private. */
  readonly lookup: LookupFunction;
}

/** Creates the guard. Unless private targets are allowed, only https to public addresses may be requested. */
export const createAddressGuard = (allowsPrivate: boolean): AddressGuard => ({
  check(url) {
    if (url.protocol !== "https:" && url.protocol !== "http:")
      throw new ForbiddenAddressError(`${url.protocol} cannot be requested`);
    if (allowsPrivate) return;
    if (url.protocol !== "https:") throw new ForbiddenAddressError("only https may be requested");
    const host = hostnameOf(url);
    if (isIP(host) !== 0 && isPrivateAddress(host)) throw new ForbiddenAddressError(`${host} is a private address`);
  },

  // The address is checked where the name is resolved, so that the name cannot point elsewhere a moment later.
  lookup(hostname, options, callback) {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const forbidden = allowsPrivate ? undefined : findPrivateAddress(addresses ?? []);
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? notFound(hostname), "", 0);
      else if (forbidden !== undefined)
        callback(new ForbiddenAddressError(`${hostname} is at the private address ${forbidden}`), "", 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  },
});

const notFound = (hostname: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" });
