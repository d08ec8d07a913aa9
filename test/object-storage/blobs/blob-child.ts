// Run by the test that traces the disk calls of a blob store. Writes blobs of 300,000 bytes and prints the id of each
// when its write has ended, which is when the service commits the manifest.
//
//   node blob-child.ts <directory> <blob id>…
import { writeSync } from "node:fs";

import { openFileBlobStore } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { blobKey } from "../../support/blob-key.ts";

const [directory, ...blobIds] = process.argv.slice(2) as [string, ...string[]];
const blobs = await openFileBlobStore({ directory });

async function* content(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(300_000);
}

for (const blobId of blobIds) {
  await blobs.write(blobId, blobKey(), content());
  writeSync(1, `${blobId}\n`);
}
await blobs.close();
