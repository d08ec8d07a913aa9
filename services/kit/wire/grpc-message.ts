/**
 * The value of `grpc-message` for a text: the UTF-8 bytes outside 0x20 to 0x7e, and the percent sign, are
 * percent-encoded, and nothing else, because stock clients leave other escapes as they came. A lone surrogate becomes U+FFFD.
 */
export const encodeGrpcMessage = (text: string): string =>
  text.replace(/[^\x20-\x24\x26-\x7e]+/g, (part) =>
    Array.from(Buffer.from(part), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
