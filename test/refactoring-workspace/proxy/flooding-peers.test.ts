import { expect, test } from "vitest";

import { FloodingPeers } from "../../../services/kit/server/flooding-peers.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { floodFromOne, shutOut, visitorsOf } from "../../support/visitors.ts";
import { startHarness } from "../harness.ts";

test("an address that floods the RPC port is shut out of the proxy's, its open connections too", async () => {
  const { workspace } = await startHarness();
  const peers = new FloodingPeers(1, new FakeClock());
  workspace.proxy.refuseFlooders(peers);
  expect(await floodFromOne(peers, visitorsOf(workspace.proxy.port, "/"))).toEqual(shutOut);
});
