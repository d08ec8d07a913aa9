import type { DescMessage } from "@bufbuild/protobuf";

import type { MethodContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { enumSpellings } from "../../services/kit/contract/spellings.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { headerIn } from "../dialects/dialect.ts";

/**
 * Replaces the documented names in a service's text by those of the caller's dialect: headers (`x-svc-acl`), and the
 * members and enum values of the method's request (`FunctionEndpoint`, `svc:kms`). Without a method, only headers.
 */
export const renameMembers = (text: string, method: MethodContract | undefined, spelling: DialectSpelling): string => {
  const names = method === undefined ? noNames : namesOf(method, spelling);
  return text.replace(/[A-Za-z][\w:-]*/g, (name) => names.get(name) ?? headerIn(spelling.dialect, name));
};

type MemberNames = ReadonlyMap<string, string>;

const noNames: MemberNames = new Map();
const known = new WeakMap<DialectSpelling, WeakMap<MethodContract, MemberNames>>();

const namesOf = (method: MethodContract, spelling: DialectSpelling): MemberNames => {
  let own = known.get(spelling);
  if (own === undefined) {
    own = new WeakMap();
    known.set(spelling, own);
  }
  let names = own.get(method);
  if (names === undefined) {
    names = collectNames(method.desc.input, spelling, new Map(), new Set());
    own.set(method, names);
  }
  return names;
};

/** Adds the names of a message's members, and of their members, in which the dialects differ. */
const collectNames = (
  desc: DescMessage,
  spelling: DialectSpelling,
  names: Map<string, string>,
  seen: Set<DescMessage>,
): MemberNames => {
  if (seen.has(desc)) return names;
  seen.add(desc);
  const add = (documented: string, spelled: string): void => {
    if (documented !== spelled) names.set(documented, spelled);
  };
  for (const field of messageContract(desc).fields) {
    add(field.wireName, spelling.member(field));
    if (field.desc.enum !== undefined)
      for (const value of enumSpellings(field.desc.enum).values) add(value.wireValue, spelling.enumValue(value));
    if (field.desc.message !== undefined) collectNames(field.desc.message, spelling, names, seen);
  }
  return names;
};
