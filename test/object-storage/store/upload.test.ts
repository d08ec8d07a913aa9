import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test, vi } from "vitest";

import type { FinishedUploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { FinishedUploadRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { finishedUploadTimes } from "../../../services/object-storage/store/layout.ts";
import {
  findFinishedUpload,
  forgetFinishedUploads,
  putFinishedUpload,
} from "../../../services/object-storage/store/upload.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const finishedAt = (ms: number): FinishedUploadRecord =>
  create(FinishedUploadRecordSchema, { finishedTimeMs: BigInt(ms), eTag: "e" });

const place = (uploadId: string) => ({ bucketId: "b", key: "k", uploadId });

test("finished uploads are forgotten oldest first up to the instant, in transactions of 500", async () => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  await store.transact((transaction) => {
    for (let each = 0; each < 1_200; each += 1) putFinishedUpload(transaction, place(`old${each}`), finishedAt(each));
    putFinishedUpload(transaction, place("young"), finishedAt(1_200));
  });

  const transact = vi.spyOn(store, "transact");
  expect(await forgetFinishedUploads(store, 1_200)).toBe(1_200);
  expect(transact).toHaveBeenCalledTimes(3);

  const read = await store.read(async (reader) => [
    await findFinishedUpload(reader, place("old0")),
    await findFinishedUpload(reader, place("old1199")),
    (await findFinishedUpload(reader, place("young")))?.eTag,
    (await reader.list(finishedUploadTimes, { limit: 10 })).map(({ key }) => key),
  ]);
  expect(read).toEqual([undefined, undefined, "e", [[1_200, "b", "k", "young"]]]);
});
