import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { SecureContext } from "node:tls";

import {
  findPrivateAddress,
  hostnameOf,
  isPrivateAddress,
  isPrivateNetworkAddress,
} from "../../kit/network/private-addresses.ts";
import type { AuthoritySettings } from "./trusted-authorities.ts";
import { TrustedAuthorities } from "./trusted-authorities.ts";

/** How services are reached. */
export interface ServiceNetworkSettings extends AuthoritySettings {
  /** Whether the installation's own network may be reached: private, loopback and link-local addresses. */
  readonly allowsPrivate: boolean;
  /** URL of the HTTP proxy through which public addresses are reached. Unset: they are reached directly. */
  readonly egressProxy?: string | undefined;
}

/** The way to a service. */
export interface ServicePath {
  /** At least one. */
  readonly addresses: readonly LookupAddress[];
  /** Whether they are not of the public internet. */
  readonly isPrivate: boolean;
  /** URL of the HTTP proxy that opens connections to them. Undefined: they are reached directly. */
  readonly httpProxy: string | undefined;
  /** Verifies the service's certificate; the same object as long as the same authorities are trusted. */
  readonly secureContext: SecureContext | undefined;
}

/** Finds the way to a host. */
export type PathFinder = Pick<ServiceNetwork, "pathTo">;

/** The installation does not allow an address of a name. */
export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
}

/**
 * Decides how services are reached, by the addresses that their names have now:
 *
 * 1. If all are public: over the public internet, through the egress proxy where there is one.
 * 2. If the others are of private networks, and the application has a private link: through the link, at these only.
 * 3. Otherwise directly, if the installation allows its own network to be reached.
 *
 * A link never leads to loopback or link-local addresses, which would be those of its far end.
 */
export class ServiceNetwork {
  readonly #settings: ServiceNetworkSettings;
  readonly #authorities: TrustedAuthorities;

  constructor(settings: ServiceNetworkSettings) {
    this.#settings = settings;
    this.#authorities = new TrustedAuthorities(settings);
  }

  /**
   * The path to the host of a URL; `privateLink` is the URL of the application's, if it has one. Rejects with
   * AddressRefusedError if an address may not be reached, with the resolver's error if the name has none, and as
   * `TrustedAuthorities.contextFor` does.
   */
  async pathTo(url: URL, privateLink?: string): Promise<ServicePath> {
    const hostname = hostnameOf(url);
    return {
      ...this.#way(hostname, await addressesOf(hostname, this.#settings.resolve), privateLink),
      secureContext: url.protocol === "https:" ? await this.#authorities.contextFor(hostname) : undefined,
    };
  }

  #way(hostname: string, found: readonly LookupAddress[], privateLink: string | undefined) {
    const { allowsPrivate, egressProxy } = this.#settings;
    const notPublic = found.filter(({ address }) => isPrivateAddress(address));
    if (notPublic.length === 0) return { addresses: found, isPrivate: false, httpProxy: egressProxy };
    if (privateLink !== undefined && notPublic.every(({ address }) => isPrivateNetworkAddress(address)))
      return { addresses: notPublic, isPrivate: true, httpProxy: privateLink };
    if (!allowsPrivate)
      throw new AddressRefusedError(
        `${hostname} has the private address ${notPublic[0]?.address}, which this installation refuses`,
      );
    return { addresses: found, isPrivate: true, httpProxy: undefined };
  }
}

/** The way to what the operator named: directly, at any address, with all authorities that Node trusts. */
export const directNetwork = (resolve: AuthoritySettings["resolve"]): PathFinder => ({
  async pathTo(url) {
    const addresses = await addressesOf(hostnameOf(url), resolve);
    const isPrivate = findPrivateAddress(addresses) !== undefined;
    return { addresses, isPrivate, httpProxy: undefined, secureContext: undefined };
  },
});

/** The addresses of a host, of which an address is its own. */
const addressesOf = async (
  hostname: string,
  resolve: AuthoritySettings["resolve"],
): Promise<readonly LookupAddress[]> => {
  const family = isIP(hostname);
  return family === 0 ? resolve(hostname) : [{ address: hostname, family }];
};
