import { JsonCursor, openBrace, openBracket } from "./json-cursor.ts";

/** One step of a path: a member's name or an element's index. */
type Step = string | number;

/**
 * The text of the value at a path in valid JSON; undefined if there is none. A path begins with `$`, followed by the
 * names of members after dots and the indexes of elements in brackets (`$.detail.state`, `$.resources[0]`). Of members
 * with the same name, the last one counts.
 */
export const readPath = (json: string, path: string): string | undefined => {
  const steps = parsePath(path);
  if (steps === undefined) return undefined;
  let found: string | undefined = json;
  for (const step of steps) {
    found = typeof step === "string" ? memberOf(found, step) : elementOf(found, step);
    if (found === undefined) return undefined;
  }
  return found.trim();
};

/** Whether a text is a path that can be read. */
export const isPath = (text: string): boolean => pathShape.test(text);

const pathShape = /^\$(?:\.[^.[\]]+|\[[0-9]+\])*$/;
const stepShape = /\.([^.[\]]+)|\[([0-9]+)\]/g;

const parsePath = (path: string): Step[] | undefined => {
  if (!pathShape.test(path)) return undefined;
  return [...path.matchAll(stepShape)].map(([, name, index]) => name ?? Number(index));
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
