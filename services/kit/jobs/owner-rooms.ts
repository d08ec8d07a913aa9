import type { Reader } from "../store/transaction.ts";
import type { OwnerGate, OwnerRoom, PoolBounds } from "./job-options.ts";
import type { RunningJobs } from "./running-jobs.ts";

/** How many jobs owners may start: by the bounds of their pool, and by the gate of the queue. */
export class OwnerRooms {
  readonly #running: Pick<RunningJobs, "placesOf">;
  readonly #gate: OwnerGate | undefined;

  constructor(running: Pick<RunningJobs, "placesOf">, gate: OwnerGate | undefined) {
    this.#running = running;
    this.#gate = gate;
  }

  async roomOf(reader: Reader, owner: string, bounds: PoolBounds, nowMs: number): Promise<OwnerRoom> {
    const count = this.#running.placesOf(owner, bounds.endingPerOwner ?? 0);
    const own = roomIn(bounds, count);
    if (this.#gate === undefined || own.count <= 0) return own;
    return lesser(own, await this.#gate.roomOf(reader, owner, count, nowMs));
  }

  /** The same without a read, if that suffices now. */
  roomNow(owner: string, bounds: PoolBounds, nowMs: number): OwnerRoom | undefined {
    const count = this.#running.placesOf(owner, bounds.endingPerOwner ?? 0);
    const own = roomIn(bounds, count);
    if (this.#gate === undefined || own.count <= 0) return own;
    const room = this.#gate.roomNow?.(owner, count, nowMs);
    return room && lesser(own, room);
  }
}

const roomIn = ({ concurrencyPerOwner }: PoolBounds, count: number): OwnerRoom => ({
  count: concurrencyPerOwner - count,
  againMs: Number.POSITIVE_INFINITY,
});

const lesser = (own: OwnerRoom, room: OwnerRoom): OwnerRoom => (room.count < own.count ? room : own);
