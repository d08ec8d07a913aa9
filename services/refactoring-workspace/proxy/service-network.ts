import type { LookupAddress } from "node:dns";
import type { SecureContext } from "node:tls";

import { hostnameOf, isPrivateAddress } from "../../kit/network/private-addresses.ts";
import type { AddressRules } from "./addresses.ts";
import { resolveAllowed } from "./addresses.ts";
import type { AuthoritySettings } from "./trusted-authorities.ts";
import { TrustedAuthorities } from "./trusted-authorities.ts";

/** How a service is reached. */
export interface ServicePath {
  /** At least one. */
  readonly addresses: readonly LookupAddress[];
  /** Whether one of them is not of the public internet. */
  readonly isPrivate: boolean;
  /** Verifies the service's certificate; the same object as long as the same authorities are trusted. */
  readonly secureContext: SecureContext | undefined;
}

/** Which addresses may be connected to, and which authorities are trusted. */
export type ServiceNetworkSettings = AddressRules & AuthoritySettings;

/** Resolves where services are and how they are reached. */
export class ServiceNetwork {
  readonly #rules: AddressRules;
  readonly #authorities: TrustedAuthorities;

  constructor(settings: ServiceNetworkSettings) {
    this.#rules = settings;
    this.#authorities = new TrustedAuthorities(settings);
  }

  /** The path to the host of a URL. Rejects as `resolveAllowed` and `TrustedAuthorities.contextFor` do. */
  async pathTo(url: URL): Promise<ServicePath> {
    const hostname = hostnameOf(url);
    const addresses = await resolveAllowed(hostname, this.#rules);
    return {
      addresses,
      isPrivate: addresses.some(({ address }) => isPrivateAddress(address)),
      secureContext: url.protocol === "https:" ? await this.#authorities.contextFor(hostname) : undefined,
    };
  }
}
