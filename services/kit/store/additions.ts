import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create, fromBinary } from "@bufbuild/protobuf";

import { encodeMessage } from "../wire/encode-message.ts";
import type { ByteString } from "./byte-string.ts";
import { bytesOf } from "./byte-string.ts";
import type { RawWrites } from "./engine.ts";
import { StoreCorruptionError } from "./errors.ts";

/** What is added to the members of one record, by their local names. */
export interface Addition {
  readonly schema: DescMessage;
  readonly amounts: Record<string, number>;
}

/** Adds amounts to those of a key. */
export const addTo = (
  additions: Map<ByteString, Addition>,
  key: ByteString,
  schema: DescMessage,
  amounts: Readonly<Record<string, number | undefined>>,
): void => {
  let addition = additions.get(key);
  if (addition === undefined) {
    addition = { schema, amounts: {} };
    additions.set(key, addition);
  }
  for (const member of Object.keys(amounts))
    addition.amounts[member] = (addition.amounts[member] ?? 0) + (amounts[member] ?? 0);
};

/** The additions of several transactions, from first to last. */
export class AddedUp {
  readonly sums = new Map<ByteString, Addition>();

  /** The next transaction: what it writes replaces what was added before, and what it adds comes on top. */
  append({ writes }: { readonly writes: RawWrites }, additions: ReadonlyMap<ByteString, Addition>): void {
    // The smaller one is visited: a group may have thousands of members that count something of their own.
    if (writes.size < this.sums.size) for (const key of writes.keys()) this.sums.delete(key);
    else for (const key of this.sums.keys()) if (writes.has(key)) this.sums.delete(key);
    for (const [key, { schema, amounts }] of additions) addTo(this.sums, key, schema, amounts);
  }
}

/** The payload of a record after an addition. Throws StoreCorruptionError if it is no such record. */
export const encodeSum = (
  key: ByteString,
  { schema, amounts }: Addition,
  payload: Uint8Array | undefined,
): Uint8Array => {
  try {
    const record = payload === undefined ? create(schema) : fromBinary(schema, payload);
    const members = record as Message & Record<string, bigint>;
    for (const [member, by] of Object.entries(amounts)) members[member] = (members[member] ?? 0n) + BigInt(by);
    return encodeMessage(schema, record);
  } catch (cause) {
    throw new StoreCorruptionError(bytesOf(key), `nothing can be added to it as a ${schema.typeName}`, { cause });
  }
};
