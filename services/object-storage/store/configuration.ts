import type { ConfigurationRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { configurations } from "./layout.ts";

type StoredDocument = Exclude<ConfigurationRecord["document"], { readonly case: undefined }>;

/** The kinds of configuration documents that a bucket can have, one of each. */
export type DocumentKind = StoredDocument["case"];

/** The document of a kind. */
export type DocumentOf<Kind extends DocumentKind> = Extract<StoredDocument, { readonly case: Kind }>["value"];

/** The kinds of which a bucket can have many documents, each with an id. */
export type IdentifiedKind = "analytics" | "inventory" | "metrics" | "tiering";

/** The bucket's document of a kind, which cannot be changed; undefined if it has none. */
export const findDocument = async <Kind extends DocumentKind>(
  reader: Reader,
  bucketId: string,
  kind: Kind,
): Promise<DocumentOf<Kind> | undefined> => {
  const record = await reader.getShared(configurations, [bucketId, kind]);
  return (record?.document.case === kind ? record.document.value : undefined) as DocumentOf<Kind> | undefined;
};

/** Replaces the bucket's document of a kind. */
export const putDocument = <Kind extends DocumentKind>(
  transaction: Transaction,
  bucketId: string,
  kind: Kind,
  document: DocumentOf<Kind>,
): void => {
  transaction.put(configurations, [bucketId, kind], { document: { case: kind, value: document } as StoredDocument });
};

/** Deletes the bucket's document of a kind; deleting it again succeeds. */
export const deleteDocument = (transaction: Transaction, bucketId: string, kind: DocumentKind): void => {
  transaction.delete(configurations, [bucketId, kind]);
};

/** The document of a kind with an id; undefined if there is none. */
export const findIdentified = async <Kind extends IdentifiedKind>(
  reader: Reader,
  bucketId: string,
  kind: Kind,
  id: string,
): Promise<DocumentOf<Kind> | undefined> => {
  const record = await reader.get(configurations, [bucketId, `${kind}/${id}`]);
  return (record?.document.case === kind ? record.document.value : undefined) as DocumentOf<Kind> | undefined;
};

/** Replaces the document of a kind with an id. */
export const putIdentified = <Kind extends IdentifiedKind>(
  transaction: Transaction,
  bucketId: string,
  kind: Kind,
  id: string,
  document: DocumentOf<Kind>,
): void => {
  const stored = { document: { case: kind, value: document } as StoredDocument };
  transaction.put(configurations, [bucketId, `${kind}/${id}`], stored);
};

/** Deletes the document of a kind with an id. */
export const deleteIdentified = (
  transaction: Transaction,
  bucketId: string,
  kind: IdentifiedKind,
  id: string,
): void => {
  transaction.delete(configurations, [bucketId, `${kind}/${id}`]);
};

/** The documents of a kind after an id (empty: from the first), by id. */
export const listIdentified = async <Kind extends IdentifiedKind>(
  reader: Reader,
  bucketId: string,
  kind: Kind,
  after: string,
  limit: number,
): Promise<DocumentOf<Kind>[]> => {
  const entries = await reader.list(configurations, {
    prefix: [bucketId, `${kind}/`],
    textPrefix: true,
    ...(after === "" ? {} : { after: [bucketId, `${kind}/${after}`] }),
    limit,
  });
  return entries.flatMap(({ value: { document } }) =>
    document.case === kind ? [document.value as DocumentOf<Kind>] : [],
  );
};
