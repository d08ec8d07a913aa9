import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { clientTokens, clientTokensByExpiry } from "../../../services/refactoring-workspace/store/layout.ts";
import { sweepExpiredTokens } from "../../../services/refactoring-workspace/work/token-sweep.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

test("expired client tokens are deleted, also one whose expiry is damaged, and no others", async () => {
  const directory = await temporaryDirectory();
  const open = () => openStore({ directory: join(directory, "leveldb"), sync: false });
  const first = await open();
  await first.transact((transaction) => {
    for (const [expiryMs, token] of [
      [1, "a"],
      [2, "b"],
      [9, "c"],
    ] as const) {
      transaction.put(clientTokens, ["111111111111", "CreateRoute", token], { expiresMs: BigInt(expiryMs) });
      transaction.put(clientTokensByExpiry, [expiryMs, "111111111111", "CreateRoute", token], {});
    }
  });
  await first.close();
  await damageStoredRecord(directory, clientTokensByExpiry, [1, "111111111111", "CreateRoute", "a"]);
  const store = await open();
  onTestFinished(() => store.close());
  await sweepExpiredTokens(store, new FakeClock(5), new AbortController().signal);
  const left = await store.read(async (reader) => [
    ...(await reader.list(clientTokens, { limit: 9 })),
    ...(await reader.list(clientTokensByExpiry, { limit: 9 })),
  ]);
  expect(left.map(({ key }) => key)).toEqual([
    ["111111111111", "CreateRoute", "c"],
    [9, "111111111111", "CreateRoute", "c"],
  ]);
});
