import { describe, expect, test } from "vitest";

import { scrubRecords } from "../../services/object-storage/work/scrub-records.ts";
import { rounds } from "../support/rounds.ts";
import type { Harness } from "./harness.ts";
import { alice, as, get, put, refusalOf, startWithBucket } from "./harness.ts";

/** A version of the model; a delete marker has no content. */
interface ModelVersion {
  readonly id: string;
  readonly content: string | undefined;
}

/** Versions of each key, newest first, as the documents describe them. */
class Model {
  readonly keys = new Map<string, ModelVersion[]>();
  state = "";

  of(key: string): ModelVersion[] {
    return this.keys.get(key) ?? [];
  }

  add(key: string, version: ModelVersion): void {
    this.keys.set(key, [version, ...this.of(key).filter(({ id }) => version.id !== "null" || id !== "null")]);
  }

  remove(key: string, versionId: string): void {
    this.keys.set(
      key,
      this.of(key).filter(({ id }) => id !== versionId),
    );
  }

  current(key: string): ModelVersion | undefined {
    const [newest] = this.of(key);
    return newest?.content === undefined ? undefined : newest;
  }

  /** Every version in the order of a listing. */
  listed(): string[] {
    return [...this.keys.keys()]
      .toSorted()
      .flatMap((key) =>
        this.of(key).map(
          ({ id, content }, index) => `${key} ${id} ${content === undefined ? "marker" : "object"} ${index === 0}`,
        ),
      );
  }
}

const keys = ["a", "a/b", "a/c", "b", "é"];

/** A small generator of numbers that a seed repeats (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) % below;
  };
};

/** All pages of the listing, put together in its order. */
const listAll = async (harness: Harness, maxKeys: number): Promise<string[]> => {
  const rows: { key: string; at: number; text: string }[] = [];
  let markers: object = {};
  for (;;) {
    const page = await harness.client.listObjectVersions({ bucket: "photos", maxKeys, ...markers }, as(alice));
    const shown = [
      ...page.versions.map((version) => ({ ...version, kind: "object" })),
      ...page.deleteMarkers.map((marker) => ({ ...marker, kind: "marker" })),
    ];
    for (const { key, versionId, kind, isLatest } of shown)
      rows.push({ key: key ?? "", at: rows.length, text: `${key} ${versionId} ${kind} ${isLatest}` });
    if (!page.isTruncated) return rows.map(({ text }) => text);
    markers = { keyMarker: page.nextKeyMarker, versionIdMarker: page.nextVersionIdMarker };
  }
};

describe("a bucket with versions", () => {
  const steps = rounds(3_000, 100_000);
  test(`is what a simple model says after each of ${steps} random steps`, { timeout: steps * 40 }, async () => {
    const seed = Number(process.env["QUARTET_SEED"] ?? Date.now() % 1_000_000);
    const random = randomFrom(seed);
    const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
    const harness = await startWithBucket();
    const model = new Model();
    const agree = (step: number, what: string, actual: unknown, expected: unknown): void =>
      expect(actual, `seed ${seed}, step ${step}: ${what}`).toEqual(expected);
    const shown = (id: string): string | undefined => (model.state === "" ? undefined : id);

    for (let step = 0; step < steps; step += 1) {
      const key = pick(keys);
      const known = pick([...model.of(key).map(({ id }) => id), "null", "0".repeat(32)]);
      const versionId = model.state === "" ? "null" : known;
      const named = model.of(key).find(({ id }) => id === versionId);
      switch (random(9)) {
        case 0:
        case 1: {
          const content = `content ${step}`;
          const answer = await put(harness, { bucket: "photos", key }, content);
          if (model.state !== "Enabled") agree(step, "put", answer.versionId, shown("null"));
          model.add(key, { id: answer.versionId ?? "null", content });
          break;
        }
        case 2: {
          const answer = await harness.client.deleteObject({ bucket: "photos", key }, as(alice));
          if (model.state === "") model.remove(key, "null");
          else model.add(key, { id: answer.versionId ?? "", content: undefined });
          agree(step, "delete", answer.deleteMarker, model.state === "" ? undefined : true);
          break;
        }
        case 3: {
          const answer = await harness.client.deleteObject({ bucket: "photos", key, versionId }, as(alice));
          const isMarker = named !== undefined && named.content === undefined;
          agree(step, "delete version", answer.deleteMarker, isMarker ? true : undefined);
          model.remove(key, versionId);
          break;
        }
        case 4: {
          const source = pick(keys);
          const chosen = model.current(source);
          const call = harness.client.copyObject(
            { bucket: "photos", key, copySource: `photos/${encodeURIComponent(source)}`, metadataDirective: "REPLACE" },
            as(alice),
          );
          if (chosen === undefined) agree(step, "copy", await refusalOf(call), "NO_SUCH_KEY");
          else model.add(key, { id: (await call).versionId ?? "null", content: chosen.content });
          break;
        }
        case 5: {
          const current = model.current(key);
          const call = get(harness, { bucket: "photos", key });
          if (current === undefined) agree(step, "get", await refusalOf(call), "NO_SUCH_KEY");
          else {
            const { head, body } = await call;
            agree(step, "get", [body.toString(), head.versionId], [current.content, shown(current.id)]);
          }
          break;
        }
        case 6: {
          const call = get(harness, { bucket: "photos", key, versionId });
          const missing = model.state === "" ? "NO_SUCH_KEY" : "NO_SUCH_VERSION";
          const refused = named === undefined ? missing : "METHOD_NOT_ALLOWED";
          if (named?.content === undefined) agree(step, "get version", await refusalOf(call), refused);
          else agree(step, "get version", (await call).body.toString(), named.content);
          break;
        }
        case 7: {
          const objects = [{ key, versionId }, { key: pick(keys) }];
          const answer = await harness.client.deleteObjects({ bucket: "photos", delete: { objects } }, as(alice));
          model.remove(key, versionId);
          const made = answer.deleted.find((deleted) => deleted.versionId === undefined);
          const other = objects[1]?.key ?? "";
          if (model.state === "") model.remove(other, "null");
          else model.add(other, { id: made?.deleteMarkerVersionId ?? "", content: undefined });
          break;
        }
        default: {
          if (random(20) > 0 && step > 0) break;
          model.state = pick(["Enabled", "Suspended"]);
          const versioningConfiguration = { status: model.state };
          await harness.client.putBucketVersioning({ bucket: "photos", versioningConfiguration }, as(alice));
        }
      }
      if (step % 50 !== 0) continue;
      const page = await harness.client.listObjectsV2({ bucket: "photos" }, as(alice));
      const current = keys.toSorted().filter((each) => model.current(each) !== undefined);
      agree(
        step,
        "list",
        page.contents.map((object) => object.key),
        current,
      );
      const all = await listAll(harness, 1 + random(7));
      agree(step, "list versions", all.toSorted(), model.listed().toSorted());
    }

    const store = harness.opened.app.store;
    const pace = { spend: async (): Promise<void> => undefined };
    expect(await scrubRecords(store, pace as never, new AbortController().signal)).toMatchObject({ damages: [] });
  });
});
