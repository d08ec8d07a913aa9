import type { DescField, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";

import { OwnerSchema } from "../../../gen/quartet/objectstorage/v1/bucket_pb.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import type { MessageBytes } from "../../kit/wire/message-bytes.ts";
import { instant } from "../domain/instant.ts";

/** Adds an instant, of milliseconds since 1970. */
export const addInstant = (out: MessageBytes, member: DescField, ms: number): void => {
  const { seconds, nanos } = TimestampSchema.field;
  if (ms < 0) {
    const encoded = encodeMessage(TimestampSchema, create(TimestampSchema, instant(ms)));
    return out.member(member, encoded, 0, encoded.length);
  }
  const wholeSeconds = Math.floor(ms / 1000);
  const start = out.open(member);
  if (wholeSeconds > 0) out.integer(seconds, wholeSeconds);
  if (ms % 1000 > 0) out.integer(nanos, (ms % 1000) * 1_000_000);
  out.close(start);
};

/** The owner, as a listing shows it, of an object that was stored for an account. */
export type DescribeOwner = (storedOwner: string) => MessageInitShape<typeof OwnerSchema>;

/** The owners of a page as bytes: the objects of a page have few. */
export class EncodedOwners {
  readonly #describe: DescribeOwner;
  readonly #known = new Map<string, Uint8Array>();

  constructor(describe: DescribeOwner) {
    this.#describe = describe;
  }

  /** Adds the owner of an object that was stored for an account. */
  add(out: MessageBytes, member: DescField, storedOwner: string): void {
    let owner = this.#known.get(storedOwner);
    if (owner === undefined) {
      owner = encodeMessage(OwnerSchema, create(OwnerSchema, this.#describe(storedOwner)));
      this.#known.set(storedOwner, owner);
    }
    out.member(member, owner, 0, owner.length);
  }
}
