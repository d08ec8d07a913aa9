/** What JSON.parse calls for each value; `context` has the source text of a number. */
export type JsonReviver = (
  this: unknown,
  key: string,
  value: unknown,
  context?: { readonly source?: string },
) => unknown;

/**
 * Parses a JSON document like JSON.parse, with correct names. JSON.parse of V8 13.6 (Node 24) compares the written form
 * of a name that has an escape with names that it read earlier: after an object with the name `caf\` it reads
 * `{"caf\u00e9": 1}` as that name too (nodejs/node#63785). One caller's document could so damage another's, therefore
 * no name with an escape is left for it: such names are decoded one by one first. A reviver gets a stand-in as the key
 * of a member whose name cannot be written without an escape. Throws SyntaxError.
 */
export const parseJson = (text: string, reviver?: JsonReviver): unknown => {
  const names = hasEscapedName(text) ? plainNames(text) : undefined;
  if (names === undefined) return reviver === undefined ? JSON.parse(text) : JSON.parse(text, reviver);
  const parsed: unknown = reviver === undefined ? JSON.parse(names.text) : JSON.parse(names.text, reviver);
  return names.special.length === 0 ? parsed : restored(parsed, names);
};

/**
 * Whether a name of a document has an escape. Only the strings with an escape are looked at, because texts within texts
 * are full of them. Of what is not well-formed either may be returned: JSON.parse refuses it.
 */
const hasEscapedName = (text: string): boolean => {
  for (let escape = text.indexOf("\\"); escape !== -1;) {
    let end = text.indexOf('"', escape + 1);
    while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
    if (end === -1) return false;
    afterSpaces.lastIndex = end + 1;
    if (afterSpaces.test(text)) return true;
    escape = text.indexOf("\\", end + 1);
  }
  return false;
};

/** Whether an odd number of backslashes precedes a character. */
const isEscaped = (text: string, at: number): boolean => {
  let first = at;
  while (first > 0 && text.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
};

const backslash = 0x5c;
const afterSpaces = /\s*:/y;

/** A document whose names have no escapes. */
interface PlainNames {
  readonly text: string;
  /** The marker of stand-ins, which occurs nowhere else in the text. */
  readonly marker: string;
  /** The names that cannot be written without an escape; the text has `marker` and the index in their place. */
  readonly special: readonly string[];
}

/**
 * A JSON string, and what follows it if it is a name. One that does not end is taken to the end of the text: if it did
 * not match, each quote within it would be tried as a beginning, in time that grows with the square of its length.
 */
const stringShape = /"[^"\\]*(?:\\.?[^"\\]*)*(?:"|$)(?=(\s*:)?)/gs;
// eslint-disable-next-line no-control-regex -- JSON forbids these characters in strings.
const needsEscape = /["\\\u0000-\u001f]/;

/** A short text that a document does not have. */
const absentMarker = (text: string): string => {
  const taken = new Set([...text.matchAll(/\ue000(\d{1,9})(?=\ue000)/g)].map(([, number]) => number));
  let number = 0;
  while (taken.has(String(number))) number += 1;
  return `\ue000${number}\ue000`;
};

/** Replaces each name that has an escape by its plain form; undefined if there is none. */
const plainNames = (text: string): PlainNames | undefined => {
  const marker = absentMarker(text);
  const special: string[] = [];
  let hasReplaced = false;
  const plain = text.replace(stringShape, (written, colon: string | undefined) => {
    if (colon === undefined || !written.includes("\\")) return written;
    const name = decoded(written);
    if (name === undefined) return written;
    hasReplaced = true;
    if (!needsEscape.test(name) && !name.includes("\ue000")) return `"${name}"`;
    special.push(name);
    return `"${marker}${special.length - 1}"`;
  });
  return hasReplaced ? { text: plain, marker, special } : undefined;
};

/** The text of one JSON string; undefined if it is not well-formed, which JSON.parse of the document then reports. */
const decoded = (written: string): string | undefined => {
  try {
    return JSON.parse(written) as string;
  } catch {
    return undefined;
  }
};

/**
 * The value with the special names in the place of their stand-ins. Members keep their order; the last of a name
 * counts.
 */
const restored = (value: unknown, names: PlainNames): unknown => {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => restored(element, names));
  const object: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const original = name.startsWith(names.marker) ? names.special[Number(name.slice(names.marker.length))] : undefined;
    Object.defineProperty(object, original ?? name, {
      value: restored(member, names),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
};
