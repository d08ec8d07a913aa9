import type { LookupAddress, LookupOptions } from "node:dns";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";

import { systemLookup } from "./fair-lookup.ts";
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

  lookup(hostname, options, callback) {
    const answer = async (): Promise<void> => {
      const found = await addressesOf(hostname, options, allowsPrivate);
      if (found instanceof Error) callback(found, "", 0);
      else if (options.all === true) callback(null, found);
      else callback(null, found[0].address, found[0].family);
    };
    void answer();
  },
});

/**
 * The addresses of a name; an error that says why it has none. The address is checked where the name is resolved, so
 * that the name cannot point elsewhere a moment later.
 */
const addressesOf = async (
  hostname: string,
  options: LookupOptions,
  allowsPrivate: boolean,
): Promise<[LookupAddress, ...LookupAddress[]] | NodeJS.ErrnoException> => {
  try {
    const [first, ...others] = await systemLookup(hostname, options);
    if (first === undefined) return notFound(hostname);
    const forbidden = allowsPrivate ? undefined : findPrivateAddress([first, ...others]);
    if (forbidden === undefined) return [first, ...others];
    return new ForbiddenAddressError(`${hostname} is at the private address ${forbidden}`);
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
};

const notFound = (hostname: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" });
