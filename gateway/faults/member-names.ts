import type { DescMessage } from "@bufbuild/protobuf";

import type { MethodContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { enumSpellings } from "../../services/kit/contract/spellings.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { headerIn } from "../dialects/dialect.ts";

/**
 * Tells a text that a service wrote, with the names of the caller's dialect: headers (`x-svc-acl`), and the members and
 * enum values of the method's request (`FunctionEndpoint`, `svc:kms`). Undefined: only headers are known.
 */
export const renameMembers = (text: string, method: MethodContract | undefined, spelling: DialectSpelling): string => {
  const words = method === undefined ? noWords : wordsOf(method, spelling);
  return text.replace(/[A-Za-z][\w:-]*/g, (word) => words.get(word) ?? headerIn(spelling.dialect, word));
};

type Words = ReadonlyMap<string, string>;

const noWords: Words = new Map();
const known = new WeakMap<DialectSpelling, WeakMap<MethodContract, Words>>();

const wordsOf = (method: MethodContract, spelling: DialectSpelling): Words => {
  let own = known.get(spelling);
  if (own === undefined) {
    own = new WeakMap();
    known.set(spelling, own);
  }
  let words = own.get(method);
  if (words === undefined) {
    words = collectWords(method.desc.input, spelling, new Map(), new Set());
    own.set(method, words);
  }
  return words;
};

/** Adds what a message's members are called, and theirs; only names in which the dialects differ. */
const collectWords = (
  desc: DescMessage,
  spelling: DialectSpelling,
  words: Map<string, string>,
  seen: Set<DescMessage>,
): Words => {
  if (seen.has(desc)) return words;
  seen.add(desc);
  const add = (documented: string, spelled: string): void => {
    if (documented !== spelled) words.set(documented, spelled);
  };
  for (const field of messageContract(desc).fields) {
    add(field.wireName, spelling.member(field));
    if (field.desc.enum !== undefined)
      for (const value of enumSpellings(field.desc.enum).values) add(value.wireValue, spelling.enumValue(value));
    if (field.desc.message !== undefined) collectWords(field.desc.message, spelling, words, seen);
  }
  return words;
};
