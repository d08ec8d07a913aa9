import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

/** A stored instant, milliseconds since 1970, as answers carry it; 0 is none. */
export const instant = (storedMs: bigint): Timestamp | undefined =>
  storedMs === 0n ? undefined : timestampFromMs(Number(storedMs));
