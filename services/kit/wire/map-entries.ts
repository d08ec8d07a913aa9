import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";

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
      if (maps.has(number) && ++count > mapEntriesMax)
        throw malformed(`The request has more than ${mapEntriesMax} entries of maps.`);
      reader.skip(wireType, number);
    }
  };
};
