import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import type { Gateway } from "../../gateway/gateway.ts";
import { defaultGatewayLimits } from "../../gateway/http/limits.ts";
import { startGateway } from "../../gateway/server.ts";
import { eventually } from "../support/eventually.ts";

const listeningCount = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === "TCPServerWrap").length;

test("a gateway whose second address is in use listens at neither", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const before = listeningCount();
  const started = startGateway({ limits: defaultGatewayLimits } as Gateway, {
    listen: { host: "127.0.0.1", port: 0 },
    adminListen: { host: "127.0.0.1", port },
  });
  await expect(started).rejects.toMatchObject({ code: "EADDRINUSE" });
  await eventually(() => listeningCount() === before, "the first address is free again", 5_000);
});
