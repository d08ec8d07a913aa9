import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { verifyPart } from "../../../services/kit/backup/verify-part.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "../store/tables.ts";

const written = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory: join(directory, "leveldb") });
  await store.transact((tx) => tx.put(notes, ["alice", "milk"], { value: "two litres" }));
  await store.close();
  return directory;
};
const task = (directory: string) => ({ verb: "verify", directory }) as const;

test("data is verified, and its database can be opened again", async () => {
  const directory = await written();
  const verify = () => verifyPart(task(directory), { layout: [notes] }, () => {});
  for (let time = 0; time < 2; time += 1) expect(await verify()).toEqual({ records: 1, files: 0, damages: [] });
});

test("a record of an unknown table is a damage", async () => {
  const directory = await written();
  const { damages } = await verifyPart(task(directory), { layout: [] }, () => {});
  expect(damages).toEqual([
    { subject: expect.stringMatching(/^record [0-9a-f]+$/), reason: "no table of this program has it" },
  ]);
});

test("a directory without a database is not given one", async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, "format"), "");
  await expect(verifyPart(task(directory), { layout: [notes] }, () => {})).rejects.toMatchObject({ code: "ENOENT" });
});
