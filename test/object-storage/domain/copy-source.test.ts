import { describe, expect, test } from "vitest";

import { parseCopySource } from "../../../services/object-storage/domain/copy-source.ts";

describe("parseCopySource", () => {
  test.each([
    // header, bucket, key
    ["photos/cat.jpg", "photos", "cat.jpg"],
    ["/photos/a/b.jpg", "photos", "a/b.jpg"],
    ["photos/a%20b", "photos", "a b"],
    ["photos/a+b", "photos", "a b"],
    ["photos/a%2Bb", "photos", "a+b"],
    ["photos%2Fa%2Fb+c", "photos", "a/b c"],
    ["photos/%C3%BC+%E2%82%AC", "photos", "ü €"],
  ])("%s is the key of an object, decoded as a form is", (header, bucket, key) => {
    expect(parseCopySource(header)).toEqual({ bucket, key, versionId: undefined });
  });

  test("a version id is not part of the key", () => {
    expect(parseCopySource("photos/a+b?versionId=null")).toEqual({ bucket: "photos", key: "a b", versionId: "null" });
  });

  test.each(["photos", "/photos/", "%", "photos/%FF", ""])('"%s" is refused', (header) => {
    expect(() => parseCopySource(header)).toThrow(
      expect.objectContaining({ facts: expect.objectContaining({ reason: "INVALID_ARGUMENT" }) }),
    );
  });
});
