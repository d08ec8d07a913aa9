import { limits } from "../limits.ts";
import type { ObjectMapping } from "./object-mapping.ts";
import { fieldNamesOf } from "./object-mapping.ts";
import { isReadableSource, isTemplate } from "./object-source.ts";
import { isKnownTarget } from "./object-target.ts";
import { profileIdKeyName } from "./search-key.ts";

/** Keys that one object type may have. */
const keysMax = 10;

/**
 * Why an object type is not valid, as a message for its author; undefined if it is. Only the first problem is named.
 */
export const findObjectTypeProblem = (mapping: ObjectMapping): string | undefined =>
  findSizeProblem(mapping) ?? findFieldProblem(mapping) ?? findKeyProblem(mapping) ?? findIdentifierProblem(mapping);

const findSizeProblem = ({ fields, keys }: ObjectMapping): string | undefined => {
  let characters = 0;
  for (const [name, { source = "", target = "" }] of Object.entries(fields))
    characters += name.length + source.length + target.length;
  let uses = 0;
  for (const [name, { items }] of Object.entries(keys)) {
    characters += name.length;
    uses += items.length;
    for (const { standardIdentifiers, fieldNames } of items) {
      if (fieldNames.length > limits.fieldsPerUseMax)
        return `a use of key ${name} has more than ${limits.fieldsPerUseMax} fields`;
      if (standardIdentifiers.length > limits.identifiersPerUseMax)
        return `a use of key ${name} has more than ${limits.identifiersPerUseMax} identifiers`;
      for (const fieldName of fieldNames) characters += fieldName.length;
    }
  }
  if (uses > limits.objectTypeUsesMax) return `its keys have more than ${limits.objectTypeUsesMax} uses`;
  if (characters <= limits.objectTypeCharactersMax) return undefined;
  return `its fields and keys have more than ${limits.objectTypeCharactersMax} characters`;
};

const findFieldProblem = ({ fields }: ObjectMapping): string | undefined => {
  let templateCharacters = 0;
  for (const [name, { source, target }] of Object.entries(fields)) {
    if (source !== undefined && isTemplate(source)) templateCharacters += source.length;
    if (templateCharacters > limits.templateCharactersMax)
      return `its sources with conditions and loops have more than ${limits.templateCharactersMax} characters`;
    if (source !== undefined && !isReadableSource(source))
      return `the source of field ${name} is neither an accessor such as _source.a.b nor a template with {{_source.a.b}}, #if, #unless, #each or #with in it, ${limits.templatePartsMax} at most`;
    if (target !== undefined && !isKnownTarget(target))
      return `the target of field ${name} is not a field of a profile`;
  }
  return undefined;
};

const findKeyProblem = ({ fields, keys }: ObjectMapping): string | undefined => {
  const names = Object.keys(keys);
  if (names.length === 0) return "it has no key";
  if (names.length > keysMax) return `it has more than ${keysMax} keys`;
  for (const [name, { items }] of Object.entries(keys)) {
    if (items.length === 0) return `key ${name} has no use`;
    for (const use of items) {
      const missing = fieldNamesOf(name, use.fieldNames).find((field) => !Object.hasOwn(fields, field));
      if (missing !== undefined) return `key ${name} names field ${missing}, which the type does not have`;
    }
  }
  return undefined;
};

const findIdentifierProblem = ({ keys }: ObjectMapping): string | undefined => {
  const uses = Object.entries(keys).flatMap(([name, { items }]) =>
    items.map((use) => ({ name, identifiers: new Set(use.standardIdentifiers) })),
  );
  const uniqueUses = uses.filter(({ identifiers }) => identifiers.has("UNIQUE"));
  if (uniqueUses.length !== 1) return `it has ${uniqueUses.length} UNIQUE keys instead of one`;
  const both = uniqueUses.find(({ identifiers }) => identifiers.has("LOOKUP_ONLY"));
  if (both !== undefined) return `key ${both.name} is both UNIQUE and LOOKUP_ONLY`;
  const profileUses = uses.filter(({ identifiers }) => identifiers.has("PROFILE"));
  if (profileUses.length === 0) return "it has no PROFILE key";
  const lookup = profileUses.find(
    ({ name, identifiers }) => identifiers.has("LOOKUP_ONLY") && name !== profileIdKeyName,
  );
  // A key that only new profiles keep is enough: the ticket type of the public guide has no other.
  const isKept = profileUses.some(({ identifiers }) => !identifiers.has("LOOKUP_ONLY"));
  if (lookup !== undefined && !isKept)
    return `key ${lookup.name} is PROFILE and LOOKUP_ONLY, and no other PROFILE key is kept`;
  return undefined;
};
