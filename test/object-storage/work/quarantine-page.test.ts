import { expect, onTestFinished, test } from "vitest";

import { quarantine } from "../../../services/object-storage/store/layout.ts";
import { quarantinePage } from "../../../services/object-storage/work/quarantine-page.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startHarness, startProcess } from "../harness.ts";

const found = { foundMs: BigInt(Date.UTC(2030, 0, 1)), seenMs: BigInt(Date.UTC(2030, 0, 2)) };
const entryOf = (subject: string) => ({
  subject,
  reason: "checksum",
  foundTime: "2030-01-01T00:00:00.000Z",
  seenTime: "2030-01-02T00:00:00.000Z",
});

const startDamaged = async (subjects: readonly string[]) => {
  const harness = await startHarness();
  onTestFinished(() => harness.stop());
  const { store } = harness.opened.scrub;
  await store.transact((transaction) => {
    for (const subject of subjects) transaction.put(quarantine, [subject], { reason: "checksum", ...found });
  });
  return quarantinePage(store);
};

test("an operator reads in parts what is damaged or missing, in the order of subjects", async () => {
  const page = await startDamaged(["blob/a", "blob/c", "blob/b"]);
  expect(await page(new URLSearchParams())).toEqual({ entries: ["blob/a", "blob/b", "blob/c"].map(entryOf) });
  const first = await page(new URLSearchParams({ limit: "2" }));
  expect(first).toEqual({ entries: ["blob/a", "blob/b"].map(entryOf), next: "blob/b" });
  expect(await page(new URLSearchParams({ limit: "2", after: "blob/b" }))).toEqual({ entries: [entryOf("blob/c")] });
  expect(await page(new URLSearchParams({ after: "blob/c" }))).toEqual({ entries: [] });
});

test.each(["0", "1001", "1.5", "many", "-1"])("a part has 1 to 1,000 entries: %s", async (limit) => {
  const page = await startDamaged([]);
  await expect(page(new URLSearchParams({ limit }))).rejects.toThrow("limit is a whole number from 1 to 1000.");
});

test("the list is at /quarantine of the port of a process, for the root of an account", async () => {
  const service = await startProcess(await temporaryDirectory());
  const answer = (authorization: string) => fetch(`${service.url}/quarantine`, { headers: { authorization } });
  expect((await answer("Bearer nobody")).status).toBe(401);
  const listed = await answer(`Bearer ${await service.token()}`);
  expect([listed.status, await listed.json()]).toEqual([200, { entries: [] }]);
});
