import {
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
} from "@aws-sdk/client-s3";

import { eTagOf } from "./model.ts";
import type { Compared, Walk } from "./walk.ts";
import { denied, digestOf, noKey, outcomeOf } from "./walk.ts";

export const get = async (walk: Walk): Promise<Compared> => {
  const current = walk.current;
  const kind = walk.random.below(4);
  const other = eTagOf(Buffer.from("another"));
  const members = [{}, { IfMatch: other }, { IfNoneMatch: current?.eTag ?? other }, { IfMatch: current?.eTag }][kind];
  const refusals = [undefined, "PreconditionFailed 412", "Unknown 304", undefined];
  const found = current && (refusals[kind] ?? [digestOf(current.content ?? Buffer.alloc(0)), current.note]);
  const expected = walk.may("reading") ? (found ?? noKey) : denied;
  const seen = await outcomeOf(
    walk.client.send(new GetObjectCommand({ ...walk.object, ...members })),
    async ({ Body, Metadata }) => [
      digestOf((await Body?.transformToByteArray()) ?? Buffer.alloc(0)),
      Metadata?.["note"] ?? "",
    ],
  );
  return { did: JSON.stringify(members), seen, expected };
};

export const getRange = async (walk: Walk): Promise<Compared> => {
  const content = walk.current?.content;
  const size = content?.length ?? 1;
  const [from, to] = [walk.random.below(size + 2), walk.random.below(size + 100)];
  const suffix = 1 + walk.random.below(size + 5);
  const isSuffix = size > 0 && walk.random.chance(0.3);
  const range = isSuffix ? `bytes=-${suffix}` : `bytes=${Math.min(from, to)}-${Math.max(from, to)}`;
  const start = isSuffix ? Math.max(0, size - suffix) : Math.min(from, to);
  const part = content?.subarray(start, isSuffix ? size : Math.max(from, to) + 1);
  const found = part && (start >= size ? "InvalidRange 416" : [digestOf(part), part.length]);
  const expected = walk.may("reading") ? (found ?? noKey) : denied;
  const seen = await outcomeOf(
    walk.client.send(new GetObjectCommand({ ...walk.object, Range: range })),
    async ({ Body, ContentLength }) => [
      digestOf((await Body?.transformToByteArray()) ?? Buffer.alloc(0)),
      ContentLength,
    ],
  );
  return { did: `${range} of ${size}`, seen, expected };
};

export const getVersion = (walk: Walk): Promise<Compared> => {
  const ids = walk.bucket.versions(walk.key).map(({ id }) => id);
  return readVersion(walk, walk.random.pick([...ids, "null", walk.bucket.removedId(walk.key)]));
};

export const readVersion = async (walk: Walk, id: string): Promise<Compared> => {
  const named = walk.bucket.find(walk.key, id);
  const found = named?.content === undefined ? "MethodNotAllowed 405" : digestOf(named.content);
  const expected = walk.may("reading") ? (named === undefined ? walk.noVersion : found) : denied;
  const seen = await outcomeOf(
    walk.client.send(new GetObjectCommand({ ...walk.object, VersionId: id })),
    async ({ Body }) => digestOf((await Body?.transformToByteArray()) ?? Buffer.alloc(0)),
  );
  return { did: id, seen, expected };
};

export const head = async (walk: Walk): Promise<Compared> => {
  const current = walk.current;
  const found = current && [current.eTag, current.content?.length, current.note];
  const expected = walk.may("reading") ? (found ?? "NotFound 404") : "Unknown 403";
  const seen = await outcomeOf(
    walk.client.send(new HeadObjectCommand(walk.object)),
    ({ ETag, ContentLength, Metadata }) => [ETag, ContentLength, Metadata?.["note"] ?? ""],
  );
  return { did: "", seen, expected };
};

export const list = async (walk: Walk): Promise<Compared> => {
  const Prefix = walk.random.pick(["", "", "a", "a/", "é"]);
  const Delimiter = walk.random.pick(["", "/"]);
  const MaxKeys = 1 + walk.random.below(4);
  const read = async (): Promise<string[]> => {
    const lines: string[] = [];
    for (let ContinuationToken: string | undefined; ;) {
      const page = await walk.client.send(
        new ListObjectsV2Command({ Bucket: walk.bucket.name, Prefix, Delimiter, MaxKeys, ContinuationToken }),
      );
      const shown = [
        ...(page.Contents ?? []).map(({ Key, ETag }) => `${Key} ${ETag}`),
        ...(page.CommonPrefixes ?? []).map((common) => `${common.Prefix} …`),
      ];
      lines.push(...shown.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))));
      ContinuationToken = page.NextContinuationToken;
      if (ContinuationToken === undefined) return lines;
    }
  };
  const expected = walk.may("reading") ? walk.bucket.listed(Prefix, Delimiter) : denied;
  return { did: `${Prefix} ${Delimiter} ${MaxKeys}`, seen: await outcomeOf(read(), (lines) => lines), expected };
};

export const listVersions = async (walk: Walk): Promise<Compared> => {
  const MaxKeys = 1 + walk.random.below(20);
  const read = async (): Promise<string[]> => {
    const found = new Map<string, string>();
    for (let markers: object = {}; ;) {
      const page = await walk.client.send(
        new ListObjectVersionsCommand({ Bucket: walk.bucket.name, MaxKeys, ...markers }),
      );
      for (const { Key, VersionId, Size, IsLatest } of page.Versions ?? [])
        found.set(`${Key} ${VersionId}`, `${Size} ${IsLatest}`);
      for (const { Key, VersionId, IsLatest } of page.DeleteMarkers ?? [])
        found.set(`${Key} ${VersionId}`, `marker ${IsLatest}`);
      if (page.IsTruncated !== true) break;
      markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
    }
    // An answer has versions and markers in two lists, which share one order.
    return [...found].map(([name, facts]) => `${name} ${facts}`).toSorted();
  };
  const expected = walk.may("reading") ? walk.bucket.listedVersions().toSorted() : denied;
  return { did: `${MaxKeys}`, seen: await outcomeOf(read(), (lines) => lines), expected };
};

export const attributes = async (walk: Walk): Promise<Compared> => {
  const current = walk.current;
  const parts = /-(\d+)"$/.exec(current?.eTag ?? "")?.[1];
  const found = current && [current.eTag, current.content?.length, parts === undefined ? undefined : Number(parts)];
  const seen = await outcomeOf(
    walk.client.send(
      new GetObjectAttributesCommand({ ...walk.object, ObjectAttributes: ["ETag", "ObjectParts", "ObjectSize"] }),
    ),
    ({ ETag, ObjectSize, ObjectParts }) => [`"${ETag}"`, ObjectSize, ObjectParts?.TotalPartsCount],
  );
  return { did: "", seen, expected: walk.may("reading") ? (found ?? noKey) : denied };
};
