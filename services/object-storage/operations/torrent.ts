import { createHash } from "node:crypto";

import type { Operation } from "../application.ts";
import { openVersion } from "../content/version-lookup.ts";
import { checkReadable } from "../domain/restore.ts";
import { pieceBytesOf, torrentOf } from "../domain/torrent.ts";
import { checkCustomerKey, checkDecryption, openContentKey } from "../encryption/content-encryption.ts";
import { invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";
import { rangesOf } from "../store/object.ts";

/**
 * Returns a torrent file of an object, for which the whole content is read. Checks, in order:
 *  1. the key exists and is no delete marker;
 *  2. the object is not encrypted under a key of a caller's own (INVALID_REQUEST);
 *  3. it is in no archive class, or restored (INVALID_OBJECT_STATE);
 *  4. the caller may decrypt with the managed key, see `checkDecryption`;
 *  5. it is not too large (INVALID_REQUEST).
 */
export const getObjectTorrent: Operation<"getObjectTorrent"> = async function* (request, context) {
  const { app, access, signal } = context;
  const { sizeBytes, ranges, encryption } = await app.store.read(async (reader) => {
    const { version } = (await openVersion(reader, context, request)).found;
    checkCustomerKey(context, access.bucket, request.key, version.encryption, undefined);
    checkReadable(version, app.clock.now());
    checkDecryption(context, access.bucket, version.encryption);
    const lengthBytes = Number(version.sizeBytes);
    if (lengthBytes > limits.torrentBytesMax)
      throw invalidRequest(`Torrents are made of objects of at most ${limits.torrentBytesMax} bytes.`);
    const whole = await rangesOf(reader, version, { offsetBytes: 0, lengthBytes });
    return { sizeBytes: lengthBytes, ranges: whole, encryption: version.encryption };
  });

  const contentKey = await openContentKey(app, encryption, undefined);
  const pieceBytes = pieceBytesOf(sizeBytes);
  const digests: Uint8Array[] = [];
  let [hash, hashed] = [createHash("sha1"), 0];
  for await (const read of app.content.read(ranges, contentKey)) {
    signal.throwIfAborted();
    for (let rest = read; rest.length > 0;) {
      const part = rest.subarray(0, pieceBytes - hashed);
      hash.update(part);
      hashed += part.length;
      rest = rest.subarray(part.length);
      if (hashed < pieceBytes) continue;
      digests.push(hash.digest());
      [hash, hashed] = [createHash("sha1"), 0];
    }
  }
  if (hashed > 0) digests.push(hash.digest());
  yield { body: torrentOf(request.key, sizeBytes, Buffer.concat(digests)) };
};
