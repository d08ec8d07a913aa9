/*
 * Identifiers of profiles, domains, object types and objects. Requests and responses show them as lower-case
 * hexadecimal digits; inside the service they are bytes.
 */

/** The bytes of an identifier that is known to be lower-case hexadecimal. */
export const idBytes = (id: string): Uint8Array => new Uint8Array(Buffer.from(id, "hex"));

/** An identifier as responses show it. */
export const idText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Reads a profile's identifier from text that may be anything; undefined if it is not one. */
export const parseProfileId = (text: string): Uint8Array | undefined =>
  /^[0-9a-f]{32}$/.test(text) ? idBytes(text) : undefined;

/** Reads an object's identifier from text that may be anything; undefined if it is not one. */
export const parseObjectKey = (text: string): Uint8Array | undefined =>
  /^[0-9a-f]{64}$/.test(text) ? idBytes(text) : undefined;

/** Orders identifiers as the database does: negative if the first comes before the second. */
export const compareIds = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(a, b);
