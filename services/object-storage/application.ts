import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { PageTokens } from "../kit/page-tokens/page-tokens.ts";
import type { Store } from "../kit/store/store.ts";
import type { CallContext } from "../kit/server/handlers.ts";
import type { ContentStore } from "./content/content-store.ts";
import type { EventOutbox } from "./events/event-outbox.ts";
import type { Sequences } from "./store/sequence.ts";

/** What the handlers of this service work with. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly content: ContentStore;
  readonly events: EventOutbox;
  readonly sequences: Sequences;
  readonly pageTokens: PageTokens;
  /** The canonical id of an account. */
  readonly canonicalUserId: (accountId: string) => string;
  /** The region that this service stands for. */
  readonly region: string;
  /** The partition of the ARNs that it tells: `aws` or the documented one. */
  readonly partition: string;
  readonly limits: Limits;
}

/** What an installation allows. Sizes are bytes. */
export interface Limits {
  readonly objectBytesMax: number;
  readonly partBytesMin: number;
  readonly partBytesMax: number;
  readonly copyBytesMax: number;
  readonly bucketsPerAccountMax: number;
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** The documented limits: objects of 5 TiB, parts of 5 MiB to 5 GiB, copies of 5 GiB. */
export const defaultLimits: Limits = {
  objectBytesMax: 5 * 1024 * gibibyte,
  partBytesMin: 5 * mebibyte,
  partBytesMax: 5 * gibibyte,
  copyBytesMax: 5 * gibibyte,
  bucketsPerAccountMax: 10_000,
};

export type Context = CallContext<Application>;
