import type { FaultMetadata } from "../../services/kit/faults/service-error.ts";

/** The longest value of a request that an answer repeats, in characters. */
const valueLengthMax = 1024;

/** The longest text that is made of many parts of a request, which its author needs whole to find the mistake. */
const composedLengthMax = 16 * 1024;

const composed = new Set(["violations", "canonical_request", "string_to_sign"]);

/** The metadata of a refusal as answers show it: a value that is too long ends with `...`. The same if none is. */
export const cutValues = (metadata: FaultMetadata): FaultMetadata => {
  const isLong = ([key, value]: readonly [string, string]): boolean => value.length > lengthMaxOf(key);
  const entries = Object.entries(metadata);
  if (!entries.some(isLong)) return metadata;
  return Object.fromEntries(
    entries.map(([key, value]) => [key, isLong([key, value]) ? `${value.slice(0, lengthMaxOf(key))}...` : value]),
  );
};

const lengthMaxOf = (key: string): number => (composed.has(key) ? composedLengthMax : valueLengthMax);
