import { PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { expect, onTestFinished, test } from "vitest";

import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

/** A call of PutEvents that carries a deduplication id, which the SDK signs with the other headers. */
const withId = (id: string): PutEventsCommand => {
  const entry = { Source: "shop", DetailType: "Sale", Detail: "{}" };
  const command = new PutEventsCommand({ Entries: [entry, entry] });
  command.middlewareStack.add(
    (next) => (each) => {
      (each.request as { headers: Record<string, string> }).headers["x-amz-deduplication-id"] = id;
      return next(each);
    },
    { step: "build" },
  );
  return command;
};

test("a call of the official SDK that is repeated with its id puts its events once", async () => {
  const system = await startSystem(await temporaryDirectory());
  onTestFinished(() => system.stop());
  const put = async (id: string) => {
    const { Entries = [] } = await system.clients.eventBus.send(withId(id));
    return Entries.map(({ EventId }) => EventId);
  };
  const first = await put("order-1");
  expect(new Set(first).size).toBe(2);
  expect(await put("order-1")).toEqual(first);
  expect(new Set([...first, ...(await put("order-2"))]).size).toBe(4);
});
