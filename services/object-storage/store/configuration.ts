import type { ConfigurationRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { configurations } from "./layout.ts";

type StoredDocument = Exclude<ConfigurationRecord["document"], { readonly case: undefined }>;

/** The kinds of configuration documents that a bucket can have, one of each. */
export type DocumentKind = StoredDocument["case"];

/** The document of a kind. */
export type DocumentOf<Kind extends DocumentKind> = Extract<StoredDocument, { readonly case: Kind }>["value"];

/** The bucket's document of a kind; undefined if it has none. */
export const findDocument = async <Kind extends DocumentKind>(
  reader: Reader,
  bucketId: string,
  kind: Kind,
): Promise<DocumentOf<Kind> | undefined> => {
  const record = await reader.get(configurations, [bucketId, kind]);
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
