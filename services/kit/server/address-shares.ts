import { peerNetwork } from "./flooding-peers.ts";

/** One address may have so many times as many places as are free. */
const timesFree = 3;

/**
 * Places that are held for as long as their holders like, which addresses share: one may have three times as many as
 * are free. So the first has three quarters of all at most, and each further one three quarters of the rest.
 */
export class AddressShares {
  readonly #max: number;
  /** The places of each address that has some. */
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a place for an address. Returns what gives it back once; undefined if the address has its share. */
  take(address: string): (() => void) | undefined {
    const peer = peerNetwork(address);
    const held = this.#held.get(peer) ?? 0;
    if (held >= timesFree * (this.#max - this.#taken)) return undefined;
    this.#held.set(peer, held + 1);
    this.#taken += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#taken -= 1;
      const left = (this.#held.get(peer) ?? 1) - 1;
      if (left === 0) this.#held.delete(peer);
      else this.#held.set(peer, left);
    };
  }
}
