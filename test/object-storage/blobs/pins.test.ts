import { expect, test } from "vitest";

import { BlobPins } from "../../../services/object-storage/blobs/pins.ts";

test("a blob is pinned until each of those who pinned it has released it, however often one of them does", () => {
  const pins = new BlobPins();
  const releaseReader = pins.pin(["a", "b"]);
  const releaseWriter = pins.pin(["a"]);
  releaseReader();
  releaseReader();
  expect([pins.isPinned("a"), pins.isPinned("b")]).toEqual([true, false]);
  releaseWriter();
  expect(pins.isPinned("a")).toBe(false);
});

test("all blobs are pinned until each of those who hold all has released them", () => {
  const pins = new BlobPins();
  const [releaseOne, releaseOther] = [pins.holdAll(), pins.holdAll()];
  releaseOne();
  releaseOne();
  expect(pins.isPinned("a")).toBe(true);
  releaseOther();
  expect(pins.isPinned("a")).toBe(false);
});
