import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { SecureContext } from "node:tls";
import { createSecureContext, rootCertificates } from "node:tls";

import type { Logger } from "../../kit/log/log.ts";
import { findPrivateAddress } from "../../kit/network/private-addresses.ts";
import type { TlsSource } from "../../kit/tls/tls-files.ts";

/** The authorities that sign certificates of services. */
export interface AuthoritySettings {
  /** PEM texts of the public ones. Unset: those that Node ships. */
  readonly publicAuthorities?: readonly string[] | undefined;
  /** Private ones, by the domain to which each belongs. Unset: none. */
  readonly privateAuthorities?: ReadonlyMap<string, TlsSource> | undefined;
  /** All addresses of a name; rejects if it has none. */
  readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
  readonly log: Logger;
}

/** The context of one list of private authorities. */
interface KnownContext {
  readonly authorities: readonly string[];
  readonly context: SecureContext;
}

/** Failures of a resolver that say that a name has no address. */
const noAddressCodes = new Set(["ENOTFOUND", "ENODATA"]);

/**
 * Decides which authorities are trusted when a service shows its certificate: the public ones for every host, and a
 * private one for the hosts of its domain, while that domain has public addresses. Authorities that the machine adds to
 * those of Node are not trusted, because they would be for every host.
 */
export class TrustedAuthorities {
  readonly #settings: AuthoritySettings;
  readonly #contexts = new Map<string, KnownContext>();
  readonly #isPublic = new Map<string, boolean>();

  constructor(settings: AuthoritySettings) {
    this.#settings = settings;
  }

  /**
   * The context of connections to a host; the same object as long as the same authorities are trusted. Rejects with the
   * resolver's error if it is not known now whether the domain of an authority has public addresses.
   */
  async contextFor(hostname: string): Promise<SecureContext> {
    const domains: string[] = [];
    const authorities: string[] = [];
    for (const [domain, source] of this.#settings.privateAuthorities ?? []) {
      const { authority } = source.current();
      if (authority === undefined || !isWithin(hostname, domain) || !(await this.#isPublicDomain(domain))) continue;
      domains.push(domain);
      authorities.push(authority);
    }
    const key = domains.join(" ");
    const known = this.#contexts.get(key);
    if (known?.authorities.every((text, index) => text === authorities[index]) === true) return known.context;
    const trusted = [...(this.#settings.publicAuthorities ?? rootCertificates), ...authorities];
    const context = createSecureContext({ ca: trusted, minVersion: "TLSv1.2" });
    this.#contexts.set(key, { authorities, context });
    return context;
  }

  async #isPublicDomain(domain: string): Promise<boolean> {
    const isPublic = await hasPublicAddresses(domain, this.#settings.resolve);
    if (this.#isPublic.get(domain) !== isPublic) {
      this.#isPublic.set(domain, isPublic);
      const line = isPublic ? "trusts a private authority" : "trusts no private authority without a public domain";
      this.#settings.log[isPublic ? "info" : "warn"]({ domain }, line);
    }
    return isPublic;
  }
}

/** Whether a host is a domain's own or below it. An address is in no domain. */
const isWithin = (hostname: string, domain: string): boolean =>
  isIP(hostname) === 0 && `.${hostname}`.endsWith(`.${domain}`);

const hasPublicAddresses = async (domain: string, resolve: AuthoritySettings["resolve"]): Promise<boolean> => {
  try {
    return findPrivateAddress(await resolve(domain)) === undefined;
  } catch (error) {
    if (noAddressCodes.has((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
};

/** What is wrong with a certificate, by the code of the failed verification. */
const certificateProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT: "is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "is not signed by a trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "is not signed by a trusted authority",
};

/** Why a certificate was refused, to follow "its certificate"; undefined: the error is not about a certificate. */
export const certificateProblemOf = (error: unknown): string | undefined =>
  certificateProblems[(error as { readonly code?: string }).code ?? ""];
