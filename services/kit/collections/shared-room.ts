import { PassingMap } from "./passing-map.ts";

/**
 * Room that owners share, and so do the parts of each owner, as accounts and what they have. What is added must fit
 * together with all that is used, and with half of what its owner and half of what its part use. So a part that is
 * alone has half of the room, an owner with many parts two thirds, and a new owner half of what is left, however many
 * came before. As the others give theirs back they get less again, until all have the same.
 */
export class SharedRoom {
  readonly #max: number;
  #used = 0;
  readonly #usedBy = new PassingMap<string, number>();
  readonly #usedByPart = new PassingMap<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** What all owners use. */
  get used(): number {
    return this.#used;
  }

  /** Whether so much of a part of an owner fits. */
  fits(owner: string, part: string, amount: number): boolean {
    const own = (this.#usedBy.get(owner) ?? 0) + (this.#usedByPart.get(nameOf(owner, part)) ?? 0);
    return this.#used + own / 2 + 2 * amount <= this.#max;
  }

  /** Uses so much for a part of an owner if it fits. Returns whether it did. */
  take(owner: string, part: string, amount: number): boolean {
    if (!this.fits(owner, part, amount)) return false;
    this.add(owner, part, amount);
    return true;
  }

  /** Counts what is there already, whether it fits or not. */
  add(owner: string, part: string, amount: number): void {
    this.#used += amount;
    change(this.#usedBy, owner, amount);
    change(this.#usedByPart, nameOf(owner, part), amount);
  }

  /** Gives back what was taken or added. */
  give(owner: string, part: string, amount: number): void {
    this.add(owner, part, -amount);
  }
}

const nameOf = (owner: string, part: string): string => `${owner.length} ${owner}${part}`;

/** Changes an amount; none is kept that is 0. */
const change = (amounts: PassingMap<string, number>, name: string, difference: number): void => {
  const amount = (amounts.get(name) ?? 0) + difference;
  if (amount === 0) amounts.delete(name);
  else amounts.set(name, amount);
};
