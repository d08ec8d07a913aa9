import type { DescField, DescMessage } from "@bufbuild/protobuf";

import { readConstraints } from "./constraints.ts";

/**
 * Values that a message of any type may have: members, items of lists and entries of maps, at all depths. The smallest
 * take two bytes, so that a request of 4 MiB could have two million, which are decoded in one turn of the event loop.
 */
const valuesMin = 25_000;

/**
 * The same of a type whose document has a list of messages of which it is not declared how long it may be: 10,000 parts
 * of an upload have as many. Not of one with maps, whose entries take longer.
 */
const openValuesMin = 100_000;

/** More are not accepted, whatever is declared. */
const valuesLimit = 200_000;

/** How deep such lists are: in the message, or in its document. */
const openDepthMax = 1;

/** How deep lists in lists are looked for; deeper ones count to what any message may have. */
const depthMax = 3;

const known = new WeakMap<DescMessage, number>();

/** The values that a message of this type may have. */
export const valuesMaxOf = (desc: DescMessage): number => {
  let max = known.get(desc);
  if (max === undefined) {
    const hasMaps = desc.fields.some(({ fieldKind }) => fieldKind === "map");
    const least = !hasMaps && hasOpenList(desc, openDepthMax) ? openValuesMin : valuesMin;
    max = Math.min(valuesLimit, least + declaredIn(desc, depthMax));
    known.set(desc, max);
  }
  return max;
};

const hasOpenList = (desc: DescMessage, depth: number): boolean =>
  desc.fields.some(
    (field) =>
      field.message !== undefined &&
      ((field.fieldKind === "list" && readConstraints(field).lengthMax === undefined) ||
        (depth > 0 && hasOpenList(field.message, depth - 1))),
  );

/** Values in the lists and maps of which it is declared how long they may be. */
const declaredIn = (desc: DescMessage, depth: number): number =>
  desc.fields.reduce((sum, field) => sum + declaredInField(field, depth), 0);

const declaredInField = (field: DescField, depth: number): number => {
  const inside = field.message === undefined || depth === 0 ? 0 : declaredIn(field.message, depth - 1);
  if (field.fieldKind !== "list" && field.fieldKind !== "map") return inside;
  return (readConstraints(field).lengthMax ?? 0) * (1 + (field.message?.fields.length ?? 0) + inside);
};
