import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test, vi } from "vitest";

import type { FinishedUploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { FinishedUploadRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { finishedUploadTimes } from "../../../services/object-storage/store/layout.ts";
import { findFinishedUpload, putFinishedUpload } from "../../../services/object-storage/store/upload.ts";
import { expireFinishedUploads } from "../../../services/object-storage/work/finished-upload-expiry.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const finishedAt = (ms: number): FinishedUploadRecord =>
  create(FinishedUploadRecordSchema, { finishedMs: BigInt(ms), eTag: "e" });

const upload = (uploadId: string) => ({ bucketId: "b", key: "k", uploadId });

test("finished uploads are deleted oldest first up to the instant, in transactions of 500", async () => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  await store.transact((transaction) => {
    for (let each = 0; each < 1_200; each += 1) putFinishedUpload(transaction, upload(`old${each}`), finishedAt(each));
    putFinishedUpload(transaction, upload("young"), finishedAt(1_200));
  });

  const transact = vi.spyOn(store, "transact");
  expect(await expireFinishedUploads(store, 1_200)).toBe(1_200);
  expect(transact).toHaveBeenCalledTimes(3);

  const read = await store.read(async (reader) => [
    await findFinishedUpload(reader, upload("old0")),
    await findFinishedUpload(reader, upload("old1199")),
    (await findFinishedUpload(reader, upload("young")))?.eTag,
    (await reader.list(finishedUploadTimes, { limit: 10 })).map(({ key }) => key),
  ]);
  expect(read).toEqual([undefined, undefined, "e", [[1_200, "b", "k", "young"]]]);
});
