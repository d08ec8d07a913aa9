import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";

import type { Harness, PutInit } from "./harness.ts";
import { alice, as, startWithBucket } from "./harness.ts";

export const film = { bucket: "photos", key: "film.mp4" };
/** Parts may be small here, so that tests are quick. */
export const smallParts = { partBytesMin: 100_000, partBytesMax: 1_000_000, objectBytesMax: 2_000_000 };
/** The content of three parts. */
export const bytes = [randomBytes(100_000), randomBytes(300_000), randomBytes(10)] as const;

/** Starts an upload of the film as Alice; returns its id. */
export const startUpload = async (harness: Harness, request: object = {}): Promise<string> =>
  (await harness.client.createMultipartUpload({ ...film, ...request }, as(alice))).uploadId ?? "";

/** Uploads a part of the film as Alice, in pieces of 64,000 bytes. */
export const sendPart = (
  harness: Harness,
  uploadId: string,
  partNumber: number,
  body: Uint8Array,
  request: object = {},
) => {
  async function* messages(): AsyncGenerator<PutInit & { uploadId?: string; partNumber?: number }> {
    yield { ...film, uploadId, partNumber, ...request };
    for (let at = 0; at < body.length; at += 64_000) yield { body: body.subarray(at, at + 64_000) };
  }
  return harness.client.uploadPart(messages() as AsyncIterable<never>, as(alice));
};

/** Completes the upload of the film as Alice. */
export const complete = (harness: Harness, uploadId: string, parts: object[], request: object = {}) =>
  harness.client.completeMultipartUpload(
    { ...film, uploadId, completeMultipartUpload: { parts }, ...request },
    as(alice),
  );

/** How many blob files there are. */
export const countFiles = async (harness: Harness): Promise<number> =>
  (await readdir(harness.blobsDirectory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .length;

/** An upload of the film with three parts, and the list that completes it. */
export const startWithParts = async (
  request: { readonly checksumAlgorithm?: string; readonly [member: string]: unknown } = {},
  partRequest: object = { ...(request.checksumAlgorithm && { checksumAlgorithm: request.checksumAlgorithm }) },
) => {
  const harness = await startWithBucket({ limits: smallParts });
  const uploadId = await startUpload(harness, request);
  const answers = [];
  for (const [index, body] of bytes.entries())
    answers.push(await sendPart(harness, uploadId, index + 1, body, partRequest));
  const parts = answers.map((answer, index) => ({
    partNumber: index + 1,
    eTag: answer.eTag,
    ...(answer.checksumCrc32 === undefined ? {} : { checksumCrc32: answer.checksumCrc32 }),
  }));
  return { harness, uploadId, parts };
};
