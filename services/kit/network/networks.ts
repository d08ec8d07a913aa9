import { BlockList, isIP } from "node:net";

/** A network: its first address, and how many bits all of its addresses share. */
interface Network {
  readonly address: string;
  readonly prefixBits: number;
  readonly family: "ipv4" | "ipv6";
}

/** Reads an address or a network: `192.0.2.7`, `10.0.0.0/8`, `fd00::/8`. Undefined: the text is neither. */
export const parseNetwork = (text: string): Network | undefined => {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const bitsMax = version === 6 ? 128 : 32;
  const prefixBits = bits === undefined ? bitsMax : Number(bits);
  if (version === 0 || address.includes("%") || prefixBits > bitsMax) return undefined;
  return { address, prefixBits, family: version === 6 ? "ipv6" : "ipv4" };
};

/** Some networks. */
export class Networks {
  /** Whether there is none, so that no address is in one. */
  readonly isEmpty: boolean;
  readonly #list = new BlockList();

  /** Each as `parseNetwork` reads it. Throws TypeError for another text. */
  constructor(networks: readonly string[]) {
    this.isEmpty = networks.length === 0;
    for (const text of networks) {
      const network = parseNetwork(text);
      if (network === undefined) throw new TypeError(`${text} is neither an address nor a network`);
      this.#list.addSubnet(network.address, network.prefixBits, network.family);
    }
  }

  /** Whether an address is in one of them. An IPv4 address mapped into IPv6 counts as the IPv4 address. */
  includes(address: string | undefined): boolean {
    if (this.isEmpty || address === undefined) return false;
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, version === 6 ? "ipv6" : "ipv4");
  }
}
