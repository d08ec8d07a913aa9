/** The bytes of a small object: one page of most file systems. */
export const smallBytes = 4 * 1024;

/** The bytes of a large object. */
export const largeBytes = 64 * 1024 * 1024;

/** The bucket that objects are put in. */
export const bucket = "bench";
