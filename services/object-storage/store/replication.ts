import type { Reader } from "../../kit/store/store.ts";
import type { ReplicationRules } from "../domain/replication.ts";
import { readReplication } from "../domain/replication.ts";
import { findDocument } from "./configuration.ts";

/** The rules by which a bucket's versions are copied; undefined if it has none. They are read once for each change. */
export const findReplication = async (reader: Reader, bucketId: string): Promise<ReplicationRules | undefined> => {
  const document = await findDocument(reader, bucketId, "replication");
  if (document === undefined) return undefined;
  const rules = rulesOf.get(document) ?? readReplication(document);
  rulesOf.set(document, rules);
  return rules;
};

/** The rules of documents that readers share. */
const rulesOf = new WeakMap<object, ReplicationRules>();
