import type { BusReference } from "../domain/arns.ts";
import type { Revision } from "./revision.ts";

/** The guard's decision on a call, as handlers receive it in `context.access`. */
export interface Access {
  /** The revision of the interface in which the call is made. */
  readonly revision: Revision;
  /**
   * The bus that the request names; the default bus if it names none. Another account's only in the operations that its
   * policy can open.
   */
  readonly bus: BusReference;
  /** In PutEvents: the indexes of the entries that the caller may not put. */
  readonly refusedEntries: ReadonlySet<number>;
}
