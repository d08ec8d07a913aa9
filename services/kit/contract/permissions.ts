import type { DescEnum, DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf";

import type { Permission } from "../../../gen/quartet/traits/v1/access_pb.ts";
import { condition_key, permission } from "../../../gen/quartet/traits/v1/access_pb.ts";
import { readOption } from "./options.ts";

/** Reads a member of a request by its path in proto names, for example `delete.objects.key`; undefined: not present. */
export type ReadMember = (path: string) => unknown;

/** One permission that a method declares, read once. */
export interface PermissionContract {
  /** The action less the service's prefix, for example `GetObject`; of another service whole, `iam:PassRole`. */
  readonly action: string;
  /** The resource as declared, for example `rule/{name}`. */
  readonly template: string;
  /** The resource part of the ARN: literal texts, and members by their paths. */
  readonly resource: readonly ResourcePiece[];
  /** The list of whose elements each is decided on by itself, as a member path; undefined: the call is decided on. */
  readonly list: string | undefined;
  /** The type of that list's elements. */
  readonly element: DescMessage | undefined;
  /** Whether a request needs the permission. */
  appliesTo(read: ReadMember): boolean;
}

/** A piece of a resource template. */
export type ResourcePiece = { readonly text: string } | { readonly member: string };

/** A member whose value policies can ask for. */
export interface ConditionMember {
  /** The path in proto names. */
  readonly path: string;
  /** The condition key less the service's prefix, documented spelling. */
  readonly key: string;
  /** The type of an enumeration's values. */
  readonly enumeration: DescEnum | undefined;
}

/** The permissions and condition members of a method. */
export interface MethodPermissions {
  readonly permissions: readonly PermissionContract[];
  readonly conditions: readonly ConditionMember[];
}

const cache = new WeakMap<DescMethod, MethodPermissions>();

/** The permissions of a method, read once. Throws when it declares none, or names members that it does not have. */
export const methodPermissions = (method: DescMethod): MethodPermissions => {
  let known = cache.get(method);
  if (known === undefined) {
    const declared = readOption(method, permission);
    if (declared.length === 0) throw new Error(`${method.name} declares no permission`);
    const permissions = declared.map((each) => readPermission(method, each));
    const lists = new Map(permissions.flatMap(({ list, element }) => (list && element ? [[list, element]] : [])));
    known = {
      permissions,
      conditions: [
        ...conditionsOf(method.input, ""),
        ...[...lists].flatMap(([list, element]) => conditionsOf(element, `${list}.`)),
      ],
    };
    cache.set(method, known);
  }
  return known;
};

/** Reads members of a whole request. A list reads as its elements, and so does a path through it. */
export const memberReader = (request: Message, desc: DescMessage): ReadMember => {
  const readFrom = (value: unknown, path: readonly DescField[]): unknown => {
    const [field, ...rest] = path;
    if (field === undefined || value === undefined) return value;
    if (Array.isArray(value)) return value.map((element) => readFrom(element, path));
    const member = (value as Readonly<Record<string, unknown>>)[field.localName];
    return readFrom(isAbsent(member) ? undefined : member, rest);
  };
  return (path) => readFrom(request, fieldsOf(desc, path));
};

/** Reads the members of one element of a list as if it were the only one; all other members as `read` does. */
export const elementReader = (read: ReadMember, list: string, element: Message, desc: DescMessage): ReadMember => {
  const own = memberReader(element, desc);
  return (path) => (path.startsWith(`${list}.`) ? own(path.slice(list.length + 1)) : read(path));
};

const conditionsOf = (desc: DescMessage, prefix: string): ConditionMember[] =>
  desc.fields.flatMap((field) => {
    const key = readOption(field, condition_key);
    return key === "" ? [] : [{ path: `${prefix}${field.name}`, key, enumeration: field.enum }];
  });

const readPermission = (method: DescMethod, declared: Permission): PermissionContract => {
  const resource = piecesOf(declared.resource);
  const members = resource.flatMap((piece) => ("member" in piece ? [piece.member] : []));
  for (const member of members) fieldsOf(method.input, member);
  const when = declared.when.flatMap((name) => membersOf(method, name));
  const unless = declared.unless.flatMap((name) => membersOf(method, name));
  const list = declared.each ? members.map((member) => listOf(method.input, member)).find(Boolean) : undefined;
  if (declared.each && list === undefined) throw new Error(`${method.name}: ${declared.resource} names no list`);
  return {
    action: declared.action,
    template: declared.resource,
    resource,
    list,
    element: list === undefined ? undefined : fieldsOf(method.input, list).at(-1)?.message,
    appliesTo: (read) =>
      (when.length === 0 || when.some((path) => isPresent(read(path)))) &&
      !unless.some((path) => isPresent(read(path))),
  };
};

/** The texts and members of a template such as `rule/{name}`. */
const piecesOf = (template: string): ResourcePiece[] =>
  template
    .split(/(\{[a-z0-9_.]+\})/)
    .filter((piece) => piece !== "")
    .map((piece) => (piece.startsWith("{") ? { member: piece.slice(1, -1) } : { text: piece }));

/** The members that a name of `when` or `unless` means. Throws when there are none. */
const membersOf = (method: DescMethod, name: string): string[] => {
  if (!name.endsWith("*")) {
    fieldsOf(method.input, name);
    return [name];
  }
  const found = method.input.fields.map((field) => field.name).filter((each) => each.startsWith(name.slice(0, -1)));
  if (found.length === 0) throw new Error(`${method.name} has no member ${name}`);
  return found;
};

const knownPaths = new WeakMap<DescMessage, Map<string, readonly DescField[]>>();

/** The fields along a path, looked up once. Throws when the message has no such member. */
const fieldsOf = (desc: DescMessage, path: string): readonly DescField[] => {
  const paths = knownPaths.get(desc) ?? new Map<string, readonly DescField[]>();
  knownPaths.set(desc, paths);
  const fields = paths.get(path) ?? findFields(desc, path);
  paths.set(path, fields);
  return fields;
};

const findFields = (desc: DescMessage, path: string): DescField[] => {
  let current: DescMessage | undefined = desc;
  return path.split(".").map((name) => {
    const field: DescField | undefined = current?.fields.find((each) => each.name === name);
    if (field === undefined) throw new Error(`${desc.typeName} has no member ${path}`);
    current = field.message;
    return field;
  });
};

/** The path of the list that a member's path goes through; undefined: through none. */
const listOf = (desc: DescMessage, path: string): string | undefined => {
  const at = fieldsOf(desc, path).findIndex((field) => field.fieldKind === "list");
  return at === -1
    ? undefined
    : path
        .split(".")
        .slice(0, at + 1)
        .join(".");
};

/** Proto has no presence for these, so their zero values say that nothing was given. */
const isAbsent = (value: unknown): boolean => value === "" || value === 0 || value === false;

const isPresent = (value: unknown): boolean => {
  if (value === undefined || isAbsent(value)) return false;
  if (Array.isArray(value)) return value.some(isPresent);
  return typeof value !== "object" || value === null || Object.keys(value).length > 0;
};
