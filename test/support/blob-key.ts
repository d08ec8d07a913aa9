import type { KeyObject } from "node:crypto";
import { createSecretKey } from "node:crypto";

/** The data key of the blobs of a test: 32 equal bytes. */
export const blobKey = (byte = 7): KeyObject => createSecretKey(Buffer.alloc(32, byte));
