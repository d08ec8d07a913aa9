import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3";

import type { ModelUpload } from "./model.ts";
import { eTagOf, eTagOfParts } from "./model.ts";
import type { Compared, Walk } from "./walk.ts";
import { contentOf, denied, largePartBytes, outcomeOf, sizes } from "./walk.ts";

export const advanceUpload = async (walk: Walk): Promise<Compared> => {
  const { uploads } = walk.bucket;
  const upload = uploads.size > 0 && walk.random.chance(0.8) ? walk.random.pick([...uploads.values()]) : undefined;
  if (upload === undefined) {
    const expected = walk.may("everything") ? "done" : denied;
    const seen = await outcomeOf(walk.client.send(new CreateMultipartUploadCommand(walk.object)), ({ UploadId }) => {
      uploads.set(UploadId ?? "", {
        id: UploadId ?? "",
        key: walk.key,
        initiator: walk.account,
        hadObject: walk.current !== undefined,
        parts: new Map(),
      });
      return "done";
    });
    return { did: "start", seen, expected };
  }
  walk.key = upload.key;
  const kind = walk.random.below(6);
  if (kind === 0 && upload.parts.size > 0) return complete(walk, upload);
  if (kind === 1) return abort(walk, upload);
  if (kind === 2) return listParts(walk, upload);
  return addPart(walk, upload, kind === 3);
};

const addPart = async (walk: Walk, upload: ModelUpload, isCopy: boolean): Promise<Compared> => {
  const PartNumber = 1 + walk.random.below(4);
  const reference = { ...walk.object, UploadId: upload.id, PartNumber };
  const source = walk.current?.content;
  if (isCopy && source !== undefined && source.length > 0 && source.length < largePartBytes) {
    const CopySource = `${walk.bucket.name}/${walk.key.split("/").map(encodeURIComponent).join("/")}`;
    const seen = await outcomeOf(
      walk.client.send(new UploadPartCopyCommand({ ...reference, CopySource })),
      ({ CopyPartResult }) => {
        upload.parts.set(PartNumber, { content: source, eTag: eTagOf(source) });
        return CopyPartResult?.ETag;
      },
    );
    return { did: `copy part ${PartNumber}`, seen, expected: walk.may("everything") ? eTagOf(source) : denied };
  }
  // Only large parts may be followed by another one.
  const size = walk.random.chance(0.1) ? largePartBytes : walk.random.pick(sizes);
  const content = contentOf(walk.number, size);
  const seen = await outcomeOf(walk.client.send(new UploadPartCommand({ ...reference, Body: content })), ({ ETag }) => {
    upload.parts.set(PartNumber, { content, eTag: eTagOf(content) });
    return ETag;
  });
  return { did: `part ${PartNumber}`, seen, expected: walk.may("everything") ? eTagOf(content) : denied };
};

const listParts = async (walk: Walk, upload: ModelUpload): Promise<Compared> => {
  const lines = [...upload.parts].toSorted(([one], [other]) => one - other);
  const expected = lines.map(([number, { content, eTag }]) => `${number} ${content.length} ${eTag}`);
  const isOwn = upload.initiator === walk.account;
  const seen = await outcomeOf(
    walk.client.send(new ListPartsCommand({ ...walk.object, UploadId: upload.id })),
    ({ Parts = [] }) => Parts.map(({ PartNumber, Size, ETag }) => `${PartNumber} ${Size} ${ETag}`),
  );
  return { did: "list parts", seen, expected: isOwn || walk.may("reading") ? expected : denied };
};

const complete = async (walk: Walk, upload: ModelUpload): Promise<Compared> => {
  const sorted = [...upload.parts].toSorted(([one], [other]) => one - other);
  const contents = sorted.map(([, { content }]) => content);
  const isTooSmall = contents.slice(0, -1).some((content) => content.length < largePartBytes);
  const current = walk.current;
  const members = walk.random.chance(0.2) ? { IfNoneMatch: "*" } : {};
  // Where nothing may be replaced, an object that was deleted since the upload's start is a conflict.
  const unmet = current === undefined ? "ConditionalRequestConflict 409" : "PreconditionFailed 412";
  const isUnmet = members.IfNoneMatch !== undefined && (current !== undefined || upload.hadObject);
  const refused = isUnmet ? unmet : undefined;
  const eTag = eTagOfParts(contents);
  const Parts = sorted.map(([PartNumber, part]) => ({ PartNumber, ETag: part.eTag }));
  const seen = await outcomeOf(
    walk.client.send(
      new CompleteMultipartUploadCommand({
        ...walk.object,
        ...members,
        UploadId: upload.id,
        MultipartUpload: { Parts },
      }),
    ),
    (answer) => {
      walk.bucket.uploads.delete(upload.id);
      walk.bucket.add(walk.key, { id: walk.idOf(answer), content: Buffer.concat(contents), eTag, note: "" });
      return answer.ETag;
    },
  );
  const expected = isTooSmall ? "EntityTooSmall 400" : (refused ?? eTag);
  return { did: `complete ${contents.length}`, seen, expected: walk.may("everything") ? expected : denied };
};

const abort = async (walk: Walk, upload: ModelUpload): Promise<Compared> => {
  const seen = await outcomeOf(
    walk.client.send(new AbortMultipartUploadCommand({ ...walk.object, UploadId: upload.id })),
    () => walk.bucket.uploads.delete(upload.id),
  );
  const isOwn = upload.initiator === walk.account;
  return { did: "abort", seen, expected: isOwn || walk.may("everything") ? true : denied };
};
