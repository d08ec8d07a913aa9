import { CopyObjectCommand, DeleteObjectCommand, DeleteObjectsCommand, PutObjectCommand } from "@aws-sdk/client-s3";

import { eTagOf, eTagOfAppended } from "./model.ts";
import type { Compared, Walk } from "./walk.ts";
import { contentOf, denied, keys, noKey, outcomeOf, sizes, versionsMax } from "./walk.ts";

const appendedBytesMax = 1_000_000;

const writeCondition = (
  walk: Walk,
): { members: { IfMatch?: string; IfNoneMatch?: string }; refusal: string | undefined } => {
  const kind = walk.random.below(8);
  const current = walk.current;
  if (kind === 0)
    return { members: { IfNoneMatch: "*" }, refusal: current === undefined ? undefined : "PreconditionFailed 412" };
  if (kind === 1 && current !== undefined) return { members: { IfMatch: current.eTag }, refusal: undefined };
  if (kind === 2)
    return {
      members: { IfMatch: eTagOf(Buffer.from("another")) },
      refusal: current === undefined ? noKey : "PreconditionFailed 412",
    };
  return { members: {}, refusal: undefined };
};

export const put = async (walk: Walk): Promise<Compared> => {
  // A key with many versions loses its oldest ones, so that listings stay short.
  if (walk.bucket.versions(walk.key).length > versionsMax) return deleteVersion(walk);
  const content = contentOf(walk.number, walk.random.pick(sizes));
  const { members, refusal } = writeCondition(walk);
  const note = `note ${walk.number}`;
  const tags = walk.random.chance(0.3) ? `n=${walk.number}` : "";
  const expected = walk.may("everything") ? (refusal ?? eTagOf(content)) : denied;
  const seen = await outcomeOf(
    walk.client.send(
      new PutObjectCommand({
        ...walk.object,
        ...members,
        Body: content,
        Metadata: { note },
        ...(tags !== "" && { Tagging: tags }),
      }),
    ),
    (answer) => {
      walk.bucket.add(walk.key, { id: walk.idOf(answer), content, eTag: eTagOf(content), note, tags });
      return answer.ETag;
    },
  );
  return { did: JSON.stringify(members), seen, expected };
};

export const append = async (walk: Walk): Promise<Compared> => {
  if (walk.bucket.versions(walk.key).length > versionsMax) return deleteVersion(walk);
  const { current } = walk;
  const size = current?.content?.length ?? 0;
  // Objects that are appended to stay small enough to be read often.
  if (size > appendedBytesMax) return put(walk);
  const content = contentOf(walk.number, walk.random.pick(sizes));
  const offset = walk.random.chance(0.2) ? size + 1 : size;
  const eTag = current === undefined ? eTagOf(content) : eTagOfAppended(current, content);
  const expected = walk.may("everything") ? (offset === size ? eTag : "InvalidWriteOffset 400") : denied;
  const seen = await outcomeOf(
    walk.client.send(new PutObjectCommand({ ...walk.object, WriteOffsetBytes: offset, Body: content })),
    (answer) => {
      const whole = Buffer.concat([current?.content ?? Buffer.of(), content]);
      const { note, tags } = current ?? {};
      const about = { ...(note !== undefined && { note }), ...(tags !== undefined && { tags }) };
      walk.bucket.add(walk.key, { id: walk.idOf(answer), content: whole, eTag, ...about });
      return answer.ETag;
    },
  );
  return { did: `${content.length} at ${offset}`, seen, expected };
};

export const deleteKey = async (walk: Walk): Promise<Compared> => {
  const isMarked = walk.bucket.versioning !== "";
  const expected = walk.may("everything") ? (isMarked ? true : undefined) : denied;
  const seen = await outcomeOf(walk.client.send(new DeleteObjectCommand(walk.object)), (answer) => {
    if (isMarked) walk.bucket.add(walk.key, { id: walk.idOf(answer), content: undefined, eTag: "" });
    else walk.bucket.remove(walk.key, "null");
    return answer.DeleteMarker;
  });
  return { did: "", seen, expected };
};

export const deleteVersion = async (walk: Walk): Promise<Compared> => {
  const ids = walk.bucket.versions(walk.key).map(({ id }) => id);
  const id = walk.random.pick(
    ids.length > versionsMax ? ids.slice(versionsMax) : [...ids, "null", walk.bucket.removedId(walk.key)],
  );
  const named = walk.bucket.find(walk.key, id);
  const bypass = walk.random.chance(0.5) ? { BypassGovernanceRetention: true } : {};
  const isKept =
    named !== undefined && (named.isHeld || (named.isRetained && bypass.BypassGovernanceRetention !== true));
  const isMarker = named !== undefined && named.content === undefined;
  const expected = walk.may("everything") && !isKept ? (isMarker ? true : undefined) : denied;
  const seen = await outcomeOf(
    walk.client.send(new DeleteObjectCommand({ ...walk.object, VersionId: id, ...(walk.bucket.isLocked && bypass) })),
    ({ DeleteMarker }) => {
      walk.bucket.remove(walk.key, id);
      return DeleteMarker;
    },
  );
  return { did: `${id} ${JSON.stringify(bypass)}`, seen, expected };
};

export const batch = async (walk: Walk): Promise<Compared> => {
  const version = walk.random.pick([
    ...walk.bucket.versions(walk.key).map(({ id }) => id),
    "null",
    walk.bucket.removedId(walk.key),
  ]);
  const others = keys.filter((key) => key !== walk.key).slice(0, 2);
  const named = walk.bucket.find(walk.key, version);
  const isKept = named !== undefined && (named.isHeld || named.isRetained);
  const may = walk.may("everything");
  const expected = [
    named === undefined && may && walk.bucket.versioning !== ""
      ? "NoSuchVersion"
      : may && !isKept
        ? "deleted"
        : "AccessDenied",
    ...others.map(() => (may ? "deleted" : "AccessDenied")),
  ];
  const Objects = [{ Key: walk.key, VersionId: version }, ...others.map((Key) => ({ Key }))];
  const seen = await outcomeOf(
    walk.client.send(new DeleteObjectsCommand({ Bucket: walk.bucket.name, Delete: { Objects } })),
    ({ Deleted = [], Errors = [] }) =>
      Objects.map(({ Key }, index) => {
        const refused = Errors.find((error) => error.Key === Key);
        if (refused !== undefined) return refused.Code;
        const done = Deleted.find((deleted) => deleted.Key === Key);
        if (index === 0) walk.bucket.remove(Key, version);
        else if (walk.bucket.versioning === "") walk.bucket.remove(Key, "null");
        else
          walk.bucket.add(Key, {
            id: walk.idOf({ VersionId: done?.DeleteMarkerVersionId }),
            content: undefined,
            eTag: "",
          });
        return "deleted";
      }),
  );
  return { did: version, seen, expected };
};

export const copy = async (walk: Walk): Promise<Compared> => {
  if (walk.bucket.versions(walk.key).length > versionsMax) return deleteVersion(walk);
  const from = walk.random.pick(walk.buckets);
  const key = walk.random.pick(keys);
  const versions = from.versions(key).filter(({ content }) => content !== undefined);
  const named = walk.random.chance(0.4) && versions.length > 0 ? walk.random.pick(versions) : undefined;
  const source = named ?? from.current(key);
  const isWrong = walk.random.chance(0.1);
  const note = `copy ${walk.number}`;
  const may = walk.may("everything") && from.allows(walk.account, "reading");
  const refusal = source === undefined ? noKey : isWrong ? "PreconditionFailed 412" : undefined;
  const encoded = `${from.name}/${key.split("/").map(encodeURIComponent).join("/")}`;
  const seen = await outcomeOf(
    walk.client.send(
      new CopyObjectCommand({
        ...walk.object,
        CopySource: named === undefined ? encoded : `${encoded}?versionId=${named.id}`,
        MetadataDirective: "REPLACE",
        Metadata: { note },
        ...(isWrong && { CopySourceIfMatch: '"wrong"' }),
      }),
    ),
    (answer) => {
      if (source === undefined) return "nothing can be copied";
      const { content, eTag, tags } = source;
      walk.bucket.add(walk.key, { id: walk.idOf(answer), content, eTag, note, tags });
      return answer.CopyObjectResult?.ETag;
    },
  );
  return { did: `${encoded} ${named?.id}`, seen, expected: may ? (refusal ?? source?.eTag) : denied };
};
