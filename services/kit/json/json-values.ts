const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * Whether a JSON document in UTF-8 has more values than that: items of lists and members of objects, at all depths. To
 * parse it would take a hundred times as long. Of what is no JSON either may be returned.
 */
export const hasMoreJsonValues = (bytes: Uint8Array, max: number): boolean => {
  const { length } = bytes;
  if (length <= max) return false;
  // Each value but the first follows a comma or begins a list or an object; one of those that is empty counts twice.
  let count = 1;
  for (let at = 0; at < length && count <= max; at += 1) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at += 1;
      for (let inner = bytes[at]; inner !== quote && at < length; inner = bytes[at]) at += inner === backslash ? 2 : 1;
    } else if (byte === comma || byte === openBracket || byte === openBrace) count += 1;
  }
  return count > max;
};
