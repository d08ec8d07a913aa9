import type { FieldContract, MethodContract } from "../../services/kit/contract/contract.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { QueryParameters } from "../http/query.ts";
import type { BoundHeaders } from "./request-headers.ts";

/** Where the fields of a method's request are, by their index. */
interface FieldIndex {
  /** What was found for the last request: mostly the next one has the same names. */
  last: FoundFields | undefined;
  /** Fields of which only a look at the whole request says whether it has them: labels, prefixes, maps. */
  readonly always: readonly number[];
  readonly byParameter: ReadonlyMap<string, readonly number[]>;
  /** By lower-case name in the dialect. */
  readonly byHeader: ReadonlyMap<string, readonly number[]>;
}

/** The fields of requests with these names, in this order. */
interface FoundFields {
  readonly parameters: readonly string[];
  readonly headers: readonly string[];
  readonly fields: readonly FieldContract[];
}

const indexes = new WeakMap<DialectSpelling, WeakMap<MethodContract, FieldIndex>>();

/**
 * The fields of a method's request that its request line and headers may have a value for, in their declared order: a
 * method has dozens of fields, and a request few of them. All others have none.
 */
export const presentFields = (
  method: MethodContract,
  query: QueryParameters,
  headers: Pick<BoundHeaders, "names">,
  spelling: DialectSpelling,
): readonly FieldContract[] => {
  const index = fieldIndex(method, spelling);
  const names = headers.names();
  const { last } = index;
  if (last !== undefined && areSame(names, last.headers) && hasNames(query, last.parameters)) return last.fields;
  const fields = findFields(method, index, query, names);
  if (query.all.length + names.length <= rememberedNamesMax)
    index.last = { parameters: query.all.map(({ name }) => name), headers: names, fields };
  return fields;
};

/** Anybody may send many names, and they are remembered only where they are few. */
const rememberedNamesMax = 64;

const areSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name, at) => name === others[at]);

const hasNames = ({ all }: QueryParameters, names: readonly string[]): boolean =>
  all.length === names.length && all.every(({ name }, at) => name === names[at]);

const findFields = (
  { input: { fields } }: MethodContract,
  { always, byParameter, byHeader }: FieldIndex,
  query: QueryParameters,
  names: readonly string[],
): readonly FieldContract[] => {
  const present = [...always];
  for (const { name } of query.all) addAll(present, byParameter.get(name));
  for (const name of names) addAll(present, byHeader.get(name));
  present.sort((a, b) => a - b);
  const found: FieldContract[] = [];
  for (let at = 0; at < present.length; at += 1) {
    const index = present[at]!;
    if (index !== present[at - 1]) found.push(fields[index]!);
  }
  return found;
};

const addAll = (present: number[], more: readonly number[] | undefined): void => {
  if (more !== undefined) for (const each of more) present.push(each);
};

const fieldIndex = (method: MethodContract, spelling: DialectSpelling): FieldIndex => {
  let own = indexes.get(spelling);
  if (own === undefined) indexes.set(spelling, (own = new WeakMap()));
  let index = own.get(method);
  if (index === undefined) own.set(method, (index = indexFields(method, spelling)));
  return index;
};

const indexFields = ({ input }: MethodContract, spelling: DialectSpelling): FieldIndex => {
  const always: number[] = [];
  const byParameter = new Map<string, number[]>();
  const byHeader = new Map<string, number[]>();
  for (const [index, { location, desc }] of input.fields.entries()) {
    const { kind } = location;
    if (kind === "label" || kind === "prefixHeaders" || (kind === "query" && desc.fieldKind === "map"))
      always.push(index);
    else if (kind === "query") add(byParameter, location.name, index);
    else if (kind === "header") add(byHeader, spelling.header(location.name), index);
  }
  return { always, byParameter, byHeader, last: undefined };
};

const add = (map: Map<string, number[]>, name: string, index: number): void => {
  const known = map.get(name);
  if (known === undefined) map.set(name, [index]);
  else known.push(index);
};
