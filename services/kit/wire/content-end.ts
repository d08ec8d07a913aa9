/**
 * The header by which the caller of an upload says before the content that its last piece is the end: no message with
 * further members follows, such as a checksum in a trailer. Whoever receives the content need not prepare for one.
 */
export const contentEndHeader = "x-content-is-last";
