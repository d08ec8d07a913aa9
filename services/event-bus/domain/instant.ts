import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

/** A stored instant (milliseconds since 1970) for an answer; undefined for 0, which means none. */
export const instant = (storedMs: bigint): Timestamp | undefined =>
  storedMs === 0n ? undefined : timestampFromMs(Number(storedMs));
