import type { KeyObject } from "node:crypto";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { LRUCache } from "lru-cache";

import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventContentSchema, SealedEventSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { findEventKey, putEventKey } from "../store/event-key.ts";

/** Data keys that are in memory; the least recently used one is unwrapped again when it is needed. */
const openKeysMax = 1_000;

interface OpenKey {
  readonly key: KeyObject;
  /** The form in which it was read; the state of its named key is checked with it before each use. */
  readonly wrapped: Uint8Array;
}

/** How the next events of a bus or an archive are stored. */
export type Sealing =
  | { readonly kind: "clear" }
  | { readonly kind: "sealed"; seal(event: EventRecord): EventRecord }
  /** The key cannot be used now. `seal` is for dead letters, under the installation's own key. */
  | { readonly kind: "unusable"; readonly reason: NamedKeyError; seal(event: EventRecord): EventRecord };

/**
 * Encrypts what events contain under the key that their bus or archive names: detail type, source, resources, detail
 * and trace header. An event stays under the key of the moment in which it was stored. All methods throw
 * SealBrokenError if stored bytes are damaged.
 */
export class EventSealing {
  readonly #keyring: Keyring;
  readonly #ids: Pick<Ids, "uuid">;
  readonly #open = new LRUCache<string, OpenKey>({ max: openKeysMax });

  constructor(keyring: Keyring, ids: Pick<Ids, "uuid">) {
    this.#keyring = keyring;
    this.#ids = ids;
  }

  /**
   * The id of the data key for a bus or archive that names an encryption key: that of its last one if it is still under
   * the same named key, or else a new one. Undefined: it names none. Throws NamedKeyError.
   */
  async keyFor(
    transaction: Transaction,
    account: string,
    keyName: string | undefined,
    presentId: string | undefined,
  ): Promise<string | undefined> {
    if (keyName === undefined || keyName === "") return undefined;
    const present = presentId === undefined ? undefined : await findEventKey(transaction, account, presentId);
    if (present !== undefined && this.#keyring.isWrappedUnder(present.wrappedKey, keyName)) return presentId;
    const id = this.#ids.uuid();
    putEventKey(transaction, account, id, {
      wrappedKey: this.#keyring.createDataKey(keyName, keyContext(account, id, false)).wrapped,
      wrappedLetterKey: this.#keyring.createDataKey("", keyContext(account, id, true)).wrapped,
    });
    return id;
  }

  /** How events are stored under the data key of an id. Undefined: as they are. */
  async under(reader: Reader, account: string, id: string | undefined): Promise<Sealing> {
    if (id === undefined) return { kind: "clear" };
    try {
      const { key } = await this.#keyOf(reader, account, id, false);
      return { kind: "sealed", seal: (event) => sealEvent(event, key, account, id, false) };
    } catch (error) {
      if (!(error instanceof NamedKeyError)) throw error;
      const { key } = await this.#keyOf(reader, account, id, true);
      return { kind: "unusable", reason: error, seal: (event) => sealEvent(event, key, account, id, true) };
    }
  }

  /** A stored event of an account with all its members. Throws NamedKeyError if its key cannot be used now. */
  async open(reader: Reader, account: string, event: EventRecord): Promise<EventRecord> {
    const { sealed, ...rest } = event;
    if (sealed === undefined) return event;
    const { key } = await this.#keyOf(reader, account, sealed.keyId, sealed.isLetter);
    const content = unseal(key, contentContext(account, sealed.keyId, event.id), sealed.content);
    const { detailType, source, resources, detail, traceHeader } = fromBinary(EventContentSchema, content);
    return { ...rest, detailType, source, resources, detail, ...(traceHeader === undefined ? {} : { traceHeader }) };
  }

  async #keyOf(reader: Reader, account: string, id: string, isLetter: boolean): Promise<OpenKey> {
    const name = `${account}/${id}/${isLetter}`;
    const known = this.#open.get(name);
    if (known !== undefined) {
      this.#keyring.assertUsable(known.wrapped);
      return known;
    }
    const record = await findEventKey(reader, account, id);
    if (record === undefined) throw new Error(`the data key ${id} of events is missing`);
    const wrapped = isLetter ? record.wrappedLetterKey : record.wrappedKey;
    const opened = { key: this.#keyring.openDataKey(keyContext(account, id, isLetter), wrapped), wrapped };
    this.#open.set(name, opened);
    return opened;
  }
}

const sealEvent = (
  event: EventRecord,
  key: KeyObject,
  account: string,
  keyId: string,
  isLetter: boolean,
): EventRecord => {
  const { detailType, source, resources, detail, traceHeader, ...rest } = event;
  const members = { detailType, source, resources, detail, ...(traceHeader === undefined ? {} : { traceHeader }) };
  const content = seal(
    key,
    contentContext(account, keyId, event.id),
    toBinary(EventContentSchema, create(EventContentSchema, members)),
  );
  const sealed = create(SealedEventSchema, { keyId, isLetter, content });
  return { ...rest, detailType: "", source: "", resources: [], detail: "", sealed };
};

/** Binds a wrapped key to its account, its id and its use. */
export const keyContext = (account: string, id: string, isLetter: boolean): readonly string[] => [
  isLetter ? "event-letter-key" : "event-key",
  account,
  id,
];

/** Binds a ciphertext to one event. */
const contentContext = (account: string, keyId: string, eventId: string): readonly string[] => [
  "event",
  account,
  keyId,
  eventId,
];
