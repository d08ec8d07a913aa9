import type { DescMessage, Message } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";

import type { ProtocolError } from "./protocol-error.ts";
import { malformed } from "./protocol-error.ts";

/**
 * Entries of the maps of one message. The smallest take nine bytes, so that a message could have 400,000, which are
 * decoded, checked and used in one turn of the event loop; no resource has so many.
 */
const mapEntriesMax = 20_000;

/** Shorter messages cannot have more: an entry has a tag and a length. */
const checkedBytesMin = 2 * mapEntriesMax;

/** The check of a message's bytes. It throws ProtocolError if they have too many entries. Undefined: it has no maps. */
export const mapEntriesCheck = (desc: DescMessage): ((bytes: Uint8Array) => void) | undefined => {
  const maps = new Set(desc.fields.filter(({ fieldKind }) => fieldKind === "map").map(({ number }) => number));
  if (maps.size === 0) return undefined;
  return (bytes) => {
    if (bytes.length <= checkedBytesMin) return;
    const reader = new BinaryReader(bytes);
    let count = 0;
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (maps.has(number) && ++count > mapEntriesMax) throw tooMany();
      reader.skip(wireType, number);
    }
  };
};

/** The same of a message that was decoded elsewhere, such as from JSON, whose entries count once for each key. */
export const refuseManyEntries = (desc: DescMessage, message: Message): void => {
  const members = message as unknown as Readonly<Record<string, object>>;
  const maps = desc.fields.filter(({ fieldKind }) => fieldKind === "map");
  const counts = maps.map(({ localName }) => Object.keys(members[localName] ?? {}).length);
  if (counts.reduce((sum, count) => sum + count, 0) > mapEntriesMax) throw tooMany();
};

const tooMany = (): ProtocolError => malformed(`The request has more than ${mapEntriesMax} entries of maps.`);
