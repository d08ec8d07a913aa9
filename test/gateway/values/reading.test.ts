import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Fixture } from "../support/fixture.ts";
import { startFixture } from "../support/fixture.ts";
import type { StorageFixture } from "../support/storage-fixture.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

let fixture: Fixture;
let storage: StorageFixture;
beforeAll(async () => {
  fixture = await startFixture();
  storage = await startStorageFixture();
  await storage.call({ method: "PUT", target: "/photos" });
  const headers = { "x-amz-checksum-crc32": "ihBq/g==" };
  await storage.call({ method: "PUT", target: "/photos/cat.jpg", headers, body: "meow" });
});
afterAll(() => Promise.all([fixture.stop(), storage.stop()]));

describe("an enumeration that is read without regard to case", () => {
  test.each(["ENABLED", "enabled", "Enabled"])("shows the checksum for x-amz-checksum-mode: %s", async (mode) => {
    const headers = { "x-amz-checksum-mode": mode };
    for (const method of ["GET", "HEAD"]) {
      const response = await storage.call({ method, target: "/photos/cat.jpg", headers });
      expect([response.status, response.headers["x-amz-checksum-crc32"]]).toEqual([200, "ihBq/g=="]);
    }
  });

  test("still has only its declared values", async () => {
    const headers = { "x-amz-checksum-mode": "on" };
    const response = await storage.call({ method: "GET", target: "/photos/cat.jpg", headers });
    expect(response.status).toBe(400);
    expect(response.body).toContain("Value 'on' at 'ChecksumMode' failed to satisfy constraint");
  });

  test.each([
    // header, query parameter, the members that the service receives
    ["enabled", "standard", { noteMode: "ENABLED", ifClass: "BOOK_CLASS_STANDARD" }],
    ["Aws:Full", "AWS:Lock", { noteMode: "svc:full", ifClass: "BOOK_CLASS_LOCKED" }],
  ])("reaches the service in its declared spelling: %s, %s", async (mode, bookClass, members) => {
    await fixture.call("object-storage", "amz", {
      method: "HEAD",
      target: `/novels/emma?if-class=${encodeURIComponent(bookClass)}`,
      headers: { "x-amz-note-mode": mode },
    });
    expect(fixture.received.at(-1)?.message).toEqual({ shelf: "novels", book: "emma", ...members });
  });

  test("is told apart from one that is compared exactly", async () => {
    const headers = { "x-amz-metadata-directive": "copy", "x-amz-copy-source": "photos/cat.jpg" };
    const response = await storage.call({ method: "PUT", target: "/photos/copy.jpg", headers });
    expect(response.status).toBe(400);
  });
});
