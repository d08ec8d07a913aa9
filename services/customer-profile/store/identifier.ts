/** The bytes that an identifier of lower-case hexadecimal digits stands for. */
export const idBytes = (id: string): Uint8Array => new Uint8Array(Buffer.from(id, "hex"));

/** The identifier that bytes stand for. */
export const idText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
