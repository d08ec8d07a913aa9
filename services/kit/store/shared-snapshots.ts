import type { Level } from "level";

type Database = Level<Buffer, Buffer>;
type DatabaseSnapshot = ReturnType<Database["snapshot"]>;

/** A snapshot of LevelDB that several readers use. It is closed when it was replaced and the last of them is done. */
export class SharedSnapshot {
  readonly snapshot: DatabaseSnapshot;
  readonly #closed = Promise.withResolvers<void>();
  #readers = 0;
  #isReplaced = false;

  constructor(database: Database) {
    this.snapshot = database.snapshot();
  }

  /** Resolves when the snapshot is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Another reader, which must release it once. */
  use(): void {
    this.#readers += 1;
  }

  /** Undefined: others use it still, or may. */
  release(): Promise<void> | undefined {
    this.#readers -= 1;
    return this.#isReplaced && this.#readers === 0 ? this.#close() : undefined;
  }

  /** No further reader comes. */
  async replace(): Promise<void> {
    this.#isReplaced = true;
    if (this.#readers === 0) await this.#close();
  }

  async #close(): Promise<void> {
    await this.snapshot.close();
    this.#closed.resolve();
  }
}

/** The snapshots of a LevelDB. Between two writes all readers share one, which costs more than most reads to create. */
export class SharedSnapshots {
  readonly #database: Database;
  readonly #open = new Set<SharedSnapshot>();
  #current: SharedSnapshot | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The snapshot for a reader that begins now. */
  get current(): SharedSnapshot {
    if (this.#current === undefined) {
      const created = new SharedSnapshot(this.#database);
      this.#current = created;
      this.#open.add(created);
      void created.closed.then(() => this.#open.delete(created));
    }
    return this.#current;
  }

  /** The database has changed: who begins to read from now on gets another snapshot. */
  renew(): void {
    void this.#current?.replace();
    this.#current = undefined;
  }

  /** Resolves when those that are open now are closed, which their readers may hold up. */
  async closed(): Promise<void> {
    this.renew();
    await Promise.all([...this.#open].map(({ closed }) => closed));
  }
}
