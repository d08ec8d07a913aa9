import { Level } from "level";

import { PassingMap } from "../collections/passing-map.ts";

/** What a database closes before it is closed: an iterator, a batch or a snapshot. */
type Resource = Parameters<Level["attachResource"]>[0];

/**
 * A LevelDB. `level` has its open iterators, batches and snapshots in one Set, which keeps closed ones until the next
 * collection of the whole heap (see PassingMap). Each has memory that V8 does not know of and only its collection
 * frees: an iterator the page that it read last, a batch all that it wrote. So they are in a map here, and the Set has
 * only what closes them all.
 */
export class LevelDatabase extends Level<Buffer, Buffer> {
  readonly #open = new PassingMap<Resource, true>();

  constructor(...parameters: ConstructorParameters<typeof Level<Buffer, Buffer>>) {
    super(...parameters);
    const close = () => this.#closeAll();
    super.attachResource({ close, [Symbol.asyncDispose]: close });
  }

  override attachResource(resource: Resource): void {
    this.#open.set(resource, true);
  }

  override detachResource(resource: Resource): void {
    this.#open.delete(resource);
  }

  /** In parallel, so that all know at once that they are closed. */
  async #closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((resource) => resource.close()));
  }
}
