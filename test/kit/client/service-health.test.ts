import { once } from "node:events";

import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { watchHealth } from "../../../services/kit/client/service-health.ts";
import { eventually } from "../../support/eventually.ts";

test("the end of the checks is no answer of a service that hangs", async () => {
  let checks = 0;
  const unary = async (_method: unknown, signal: AbortSignal | undefined): Promise<never> => {
    checks += 1;
    if (checks <= 2) throw new ConnectError("the deadline passed", Code.DeadlineExceeded);
    await once(signal!, "abort");
    throw new ConnectError("the call was cancelled", Code.Canceled);
  };
  const changes: boolean[] = [];
  const health = watchHealth(
    { unary },
    {
      intervalMs: 1,
      missesMax: 2,
      onChange: (isHanging) => changes.push(isHanging),
    },
  );
  await eventually(() => checks === 3, "a check runs after two missed ones", 5_000);
  await health.stop();
  expect([changes, health.isHanging]).toEqual([[true], true]);
});
