/**
 * Infers a JSON Schema from values. A shape is what is known of the values at one place; merging two of them is
 * commutative, associative and idempotent, so neither the order of events nor a repeated one changes the result.
 */

/** The types of values that were seen at a place; bits of `types`. Texts are dates with times, or others. */
export const seen = { null: 1, boolean: 2, integer: 4, fraction: 8, dateTime: 16, text: 32, object: 64, list: 128 };

/** What was seen at one place of the values. */
export interface Shape {
  /** The bits of `seen`. */
  types: number;
  /** As a property: an object was seen without it. */
  isOptional: boolean;
  /** More was seen inside than the limits allow to keep. */
  isOpen: boolean;
  /** What the elements of lists have in common. Unset: none was seen. */
  items?: Shape | undefined;
  /** What objects have in common, in order of the names. */
  properties: Map<string, Shape>;
}

/** How much of a shape is kept. */
export interface ShapeLimits {
  /** Levels of objects and lists. */
  readonly depthMax: number;
  /** Properties and elements of lists, over all levels. The upper levels are kept, and of one level the first names. */
  readonly placesMax: number;
  /** UTF-16 units of the name of a property. */
  readonly nameLengthMax: number;
}

/** The limits of shapes that are stored. */
export const shapeLimits: ShapeLimits = { depthMax: 8, placesMax: 500, nameLengthMax: 128 };

/** The shape of one value. What is not kept of it is not looked into, so that a large value costs what is kept. */
export const observe = (value: unknown, limits: ShapeLimits = shapeLimits): Shape => {
  const shape = newShape();
  let left = limits.placesMax;
  let level: ObservedPlace[] = [{ shape, values: [value] }];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: ObservedPlace[] = [];
    for (const place of level) {
      if (left === 0 || depth === limits.depthMax) noteTypes(place);
      else left -= keepFirst(place.shape, lookInto(place, limits), left, next);
    }
    level = next;
  }
  return shape;
};

/** The shape of all values that either shape was inferred from. */
export const merge = (one: Shape, other: Shape, limits: ShapeLimits = shapeLimits): Shape =>
  cut(united(one, other), limits);

/** Whether two shapes are the same. */
export const isSameShape = (one: Shape, other: Shape): boolean =>
  one.types === other.types &&
  one.isOptional === other.isOptional &&
  one.isOpen === other.isOpen &&
  isSameItem(one.items, other.items) &&
  one.properties.size === other.properties.size &&
  [...one.properties].every(([name, shape]) => isSameItem(shape, other.properties.get(name)));

const isSameItem = (one: Shape | undefined, other: Shape | undefined): boolean =>
  one === undefined || other === undefined ? one === other : isSameShape(one, other);

const newShape = (): Shape => ({ types: 0, isOptional: false, isOpen: false, properties: new Map() });

/** A place whose shape is to be found out, and what was seen there. */
interface ObservedPlace {
  readonly shape: Shape;
  readonly values: readonly unknown[];
}

/** What the values of a place have inside. */
interface Inside {
  readonly elements: readonly unknown[];
  readonly members: ReadonlyMap<string, readonly unknown[]>;
  readonly objectCount: number;
}

/** Notes the types of the values of a place of which nothing inside is kept. */
const noteTypes = ({ shape, values }: ObservedPlace): void => {
  for (const value of values) {
    shape.types |= typeOf(value);
    if (typeof value === "object" && value !== null) shape.isOpen ||= Object.keys(value).length > 0;
  }
};

/** Notes the types of the values of a place, each of which is visited once, however many there are. */
const lookInto = ({ shape, values }: ObservedPlace, { nameLengthMax }: ShapeLimits): Inside => {
  const elements: unknown[] = [];
  const members = new Map<string, unknown[]>();
  let objectCount = 0;
  for (const value of values) {
    shape.types |= typeOf(value);
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const element of value) elements.push(element);
      continue;
    }
    objectCount += 1;
    for (const [name, member] of Object.entries(value)) {
      const known = members.get(name);
      if (known !== undefined) known.push(member);
      else if (name.length <= nameLengthMax && name.isWellFormed()) members.set(name, [member]);
      else shape.isOpen = true;
    }
  }
  return { elements, members, objectCount };
};

/** Adds the first `left` places inside a place to its shape and to the next level. Returns how many. */
const keepFirst = (
  shape: Shape,
  { elements, members, objectCount }: Inside,
  left: number,
  next: ObservedPlace[],
): number => {
  const items = elements.length > 0 && left > 0 ? newShape() : undefined;
  if (items !== undefined) {
    shape.items = items;
    next.push({ shape: items, values: elements });
  }
  const itemsCount = items === undefined ? 0 : 1;
  const names = firstNames(members, left - itemsCount);
  for (const name of names) {
    const values = members.get(name) ?? [];
    const property = newShape();
    property.isOptional = values.length < objectCount;
    shape.properties.set(name, property);
    next.push({ shape: property, values });
  }
  shape.isOpen ||= (elements.length > 0 && items === undefined) || names.length < members.size;
  return itemsCount + names.length;
};

const typeOf = (value: unknown): number => {
  if (value === null) return seen.null;
  if (Array.isArray(value)) return seen.list;
  if (typeof value === "string") return isDateTime(value) ? seen.dateTime : seen.text;
  if (typeof value === "number") return Number.isInteger(value) ? seen.integer : seen.fraction;
  return typeof value === "boolean" ? seen.boolean : seen.object;
};

const dateTime =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether a text is a `date-time` of RFC 3339. One with a leap second counts as another text. */
const isDateTime = (text: string): boolean => {
  const [, year, month, day] = dateTime.exec(text) ?? [];
  if (day === undefined) return false;
  return Number(day) <= 28 || Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
};

/** The names of a map in their order, which is that of their UTF-16 units. */
const sorted = (named: ReadonlyMap<string, unknown>): string[] => [...named.keys()].toSorted();

/** The first names of a map in the same order, as many as are kept. */
const firstNames = (named: ReadonlyMap<string, unknown>, countMax: number): string[] => {
  if (named.size <= countMax) return sorted(named);
  const first: string[] = [];
  for (const name of named.keys()) {
    const last = first.at(-1);
    if (first.length >= countMax && (last === undefined || name > last)) continue;
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((first[middle] ?? "") < name) low = middle + 1;
      else high = middle;
    }
    first.splice(low, 0, name);
    if (first.length > countMax) first.pop();
  }
  return first;
};

/** A new shape of all that either has, whatever its size. A property that the other's objects lack is optional. */
const united = (one: Shape, other: Shape): Shape => {
  const lacks = (shape: Shape, name: string): boolean =>
    (shape.types & seen.object) !== 0 && !shape.properties.has(name);
  const properties = new Map<string, Shape>();
  for (const name of sorted(new Map([...one.properties, ...other.properties]))) {
    const property = unitedPlaces(one.properties.get(name), other.properties.get(name));
    if (property === undefined) continue;
    property.isOptional ||= lacks(one, name) || lacks(other, name);
    properties.set(name, property);
  }
  return {
    types: one.types | other.types,
    isOptional: one.isOptional || other.isOptional,
    isOpen: one.isOpen || other.isOpen,
    items: unitedPlaces(one.items, other.items),
    properties,
  };
};

const unitedPlaces = (one: Shape | undefined, other: Shape | undefined): Shape | undefined => {
  const present = one ?? other;
  return present && united(present, other ?? present);
};

/**
 * Keeps the first places of a shape, level by level, and marks those that lose some as open. What is kept of a whole is
 * kept of each of its parts, so shapes may be cut before they are merged.
 */
const cut = (shape: Shape, { placesMax }: ShapeLimits): Shape => {
  let left = placesMax;
  for (let level = [shape]; level.length > 0;) {
    const next: Shape[] = [];
    for (const place of level) {
      if (place.items !== undefined) {
        if (left > 0) next.push(place.items);
        else place.items = undefined;
        place.isOpen ||= left === 0;
        left = Math.max(0, left - 1);
      }
      for (const [name, property] of place.properties) {
        if (left > 0) next.push(property);
        else place.properties.delete(name);
        place.isOpen ||= left === 0;
        left = Math.max(0, left - 1);
      }
    }
    level = next;
  }
  return shape;
};
