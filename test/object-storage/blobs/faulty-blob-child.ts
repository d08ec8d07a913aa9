// Run by the test of disk errors. Opens a blob store, writes blobs of 600,000 bytes, also after one was refused, and
// then reads those that were answered. Prints a line for each step:
//
//   opened | <blob id> answered | <blob id> refused <error> | <blob id> read | <blob id> unread <error> | ended <error>
//
//   node faulty-blob-child.ts <directory> <blob id>…
import { writeSync } from "node:fs";

import { openFileBlobStore } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { blobKey } from "../../support/blob-key.ts";

const [directory, ...blobIds] = process.argv.slice(2) as [string, ...string[]];
const say = (line: string): void => void writeSync(1, `${line}\n`);
const nameOf = (error: unknown): string => (error as Error).name;
const sizeBytes = 600_000;

async function* content(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(sizeBytes);
}

try {
  const blobs = await openFileBlobStore({ directory });
  say("opened");
  const answered: string[] = [];
  for (const blobId of blobIds)
    try {
      await blobs.write(blobId, blobKey(), content());
      answered.push(blobId);
      say(`${blobId} answered`);
    } catch (error) {
      say(`${blobId} refused ${nameOf(error)}`);
    }
  for (const blobId of answered)
    try {
      let bytes = 0;
      for await (const piece of await blobs.open(blobId, { offsetBytes: 0, lengthBytes: sizeBytes }, blobKey()))
        bytes += piece.byteLength;
      say(`${blobId} ${bytes === sizeBytes ? "read" : "cut"}`);
    } catch (error) {
      say(`${blobId} unread ${nameOf(error)}`);
    }
  await blobs.close();
} catch (error) {
  say(`ended ${nameOf(error)}`);
}
