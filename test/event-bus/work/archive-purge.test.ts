import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { archiveHolder, getArchive, putArchiveEntry } from "../../../services/event-bus/store/archive.ts";
import { putEvent } from "../../../services/event-bus/store/event.ts";
import { archiveCounts, archiveEntries, eventHolders, events } from "../../../services/event-bus/store/layout.ts";
import type { Table } from "../../../services/kit/store/table.ts";
import { ownerAccount, startHarness } from "../harness.ts";
import { defaultBus, sell } from "../operations/sales.ts";

test("a purge of a deleted archive takes several steps and leaves no entry, count or event", async () => {
  const { client, app, clock, store } = await startHarness();
  await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
  await sell(client, clock.now(), 1);
  const count = async (table: Table): Promise<number> =>
    (await store.read((reader) => reader.list(table, { limit: 10_000 }))).length;
  const rows = (): Promise<number[]> =>
    Promise.all([count(archiveEntries), count(archiveCounts), count(eventHolders), count(events)]);
  await store.transact(async (transaction) => {
    const { id } = await getArchive(transaction, ownerAccount, "sales");
    for (let n = 1; n < 1_100; n += 1) {
      const key = { account: ownerAccount, ingestedMs: clock.now(), eventId: `e${n}` };
      const event = create(EventRecordSchema, { id: key.eventId, source: "shop", detail: "{}", bus: "default" });
      putEvent(transaction, key, event, [archiveHolder(id)]);
      putArchiveEntry(transaction, key, id, event);
    }
  });
  expect(await rows()).toEqual([1_100, 1_100, 1_100, 1_100]);
  clock.advance(app.limits.eventLogMs + 1);
  await client.deleteArchive({ archiveName: "sales" });
  await app.jobs.idle();
  expect(await rows()).toEqual([0, 0, 0, 0]);
});
