/** A delivery stream that an installation declares: where its objects are, and when one is written. */
export interface DeliveryStream {
  readonly account: string;
  readonly name: string;
  readonly bucket: string;
  /** The beginning of the objects' keys. */
  readonly prefix: string;
  /** Bytes of records after which an object is written. */
  readonly bytesMax: number;
  /** Milliseconds after which the oldest record is written, however few there are. */
  readonly ageMsMax: number;
}

/** The name of a stream among those of all accounts. */
export const streamName = (account: string, name: string): string => `${account}/${name}`;

/**
 * The key of the object that begins with a record: the prefix, the hour in UTC, the stream, the time and the record's
 * id. It depends on that record only, so writing an object again after a crash replaces it.
 */
export const streamObjectKey = (
  { prefix, name }: Pick<DeliveryStream, "prefix" | "name">,
  atMs: number,
  recordId: string,
): string => {
  const time = new Date(atMs).toISOString();
  const hour = time.slice(0, 13).replaceAll(/[-T]/g, "/");
  return `${prefix}${hour}/${name}-${time.slice(0, 19).replaceAll(/[T:]/g, "-")}-${recordId}`;
};
