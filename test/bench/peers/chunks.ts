/** The size of the chunks in which the stream measurement sends bytes. */
export const chunkBytes = 256 * 1024;

/** The bytes of one transfer. */
export const transferBytes = 128 * 1024 * 1024;
