import { JsonCursor, openBrace, openBracket } from "./json-cursor.ts";

/** One step of a path: a member's name, an element's index, or all members or elements. */
type Step = string | number | typeof all;

const all = Symbol("all");

/**
 * The text of the value at a path in valid JSON; undefined if there is none. A path begins with `$`, followed by the
 * names of members after dots and the indexes of elements in brackets (`$.detail.state`, `$.resources[0]`). Of members
 * with the same name, the last one counts. `*` instead of a name or an index means all, and the value is a list of what
 * is at the rest of the path (`$.detail.items[*].id`).
 */
export const readPath = (json: string, path: string): string | undefined => {
  const steps = parsePath(path);
  if (steps === undefined) return undefined;
  let found = [json];
  let isList = false;
  for (const step of steps) {
    if (step === all) {
      if (!isList && !isComposed(found[0] ?? "")) return undefined;
      isList = true;
      found = found.flatMap(partsOf);
    } else found = found.flatMap((each) => partOf(each, step) ?? []);
    if (!isList && found.length === 0) return undefined;
  }
  return isList ? `[${found.join()}]` : found[0]?.trim();
};

/** Whether a text is a path that can be read. */
export const isPath = (text: string): boolean => pathShape.test(text);

const pathShape = /^\$(?:\.[^.[\]]+|\[(?:[0-9]+|\*)\])*$/;
const stepShape = /\.([^.[\]]+)|\[([0-9]+|\*)\]/g;

const parsePath = (path: string): Step[] | undefined => {
  if (!pathShape.test(path)) return undefined;
  return [...path.matchAll(stepShape)].map(([, name, index]) =>
    name === "*" || index === "*" ? all : (name ?? Number(index)),
  );
};

const partOf = (json: string, step: string | number): string | undefined =>
  typeof step === "string" ? memberOf(json, step) : elementOf(json, step);

const isComposed = (json: string): boolean => {
  const first = new JsonCursor(json).peek();
  return first === openBrace || first === openBracket;
};

/** The values in an object or a list; of anything else, none. */
const partsOf = (json: string): string[] => {
  const cursor = new JsonCursor(json);
  const first = cursor.peek();
  if (first !== openBrace && first !== openBracket) return [];
  const parts: string[] = [];
  cursor.enter();
  while (cursor.hasMore()) {
    if (first === openBrace) cursor.memberName();
    parts.push(cursor.value());
  }
  return parts;
};

const memberOf = (json: string, name: string): string | undefined => {
  const cursor = new JsonCursor(json);
  if (cursor.peek() !== openBrace) return undefined;
  cursor.enter();
  let found: string | undefined;
  while (cursor.hasMore()) {
    if (cursor.memberName() === name) found = cursor.value();
    else cursor.skipValue();
  }
  return found;
};

const elementOf = (json: string, index: number): string | undefined => {
  const cursor = new JsonCursor(json);
  if (cursor.peek() !== openBracket) return undefined;
  cursor.enter();
  for (let at = 0; cursor.hasMore(); at += 1) {
    if (at === index) return cursor.value();
    cursor.skipValue();
  }
  return undefined;
};
