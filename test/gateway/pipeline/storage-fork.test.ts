import { expect, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

test("a bucket is forked by its subresource, which shows how far the fork is", async () => {
  const storage = await startStorageFixture();
  try {
    const call = (method: string, target: string, headers: Record<string, string> = {}, body = "") =>
      storage.call({ method, target, headers, body });
    const to = (name: string) => ({ "x-amz-fork-destination": name });
    await call("PUT", "/original");
    await call("PUT", "/original/a", {}, "one");
    expect((await call("PUT", "/original?fork", to("copies"))).status).toBe(200);
    await eventually(async () => (await call("HEAD", "/copies")).status === 200, "the fork is made");
    const { body } = await call("GET", "/original?fork", to("copies"));
    expect(body).toMatch(/<BucketFork.*<Status>COMPLETED<\/Status>.*<VersionCount>1<\/VersionCount>/s);
    expect((await call("GET", "/copies/a")).body).toBe("one");
    const missing = await call("GET", "/original?fork", to("none"));
    expect([missing.status, missing.body]).toEqual([404, expect.stringContaining("<Code>NoSuchFork</Code>")]);
    const without = await call("PUT", "/original?fork");
    expect([without.status, without.body]).toEqual([400, expect.stringContaining("'Destination'")]);
    expect((await call("PUT", "/original/a?fork")).status).toBe(501);
  } finally {
    await storage.stop();
  }
});
