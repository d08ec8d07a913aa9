/** Bytes of a record of the object or of the result. */
export const recordBytesMax = 1024 * 1024;

/** Columns of a record. */
export const columnsMax = 16_384;
