import type { BusReference } from "../domain/arns.ts";
import type { Revision } from "./revision.ts";

/** The guard's decision on a call, as handlers receive it in `context.access`. */
export interface Access {
  /** The revision of the interface in which the call is made. */
  readonly revision: Revision;
  /** The bus that the request names, which the caller's account owns; the default bus if it names none. */
  readonly bus: BusReference;
}
