import { once } from "node:events";
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { functionClient } from "../../../services/object-storage/functions/function-client.ts";
import { eventually } from "../../support/eventually.ts";

const arnIn = (account: string, name: string): string => `arn:aws:lambda:us-east-1:${account}:function:${name}`;
const [shop, bakery] = ["111122223333", "444455556666"];

/** Functions of which `hang` never ends. */
const startFunctions = async (): Promise<{ readonly url: string; readonly hanging: () => number }> => {
  let hanging = 0;
  const server: Server = createServer((request, response) => {
    if (request.url?.includes("/hang/")) hanging += 1;
    else response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hanging: () => hanging };
};

test("functions of one account that hang leave places for those of others, and their own end with their calls", async () => {
  const { url, hanging } = await startFunctions();
  const client = functionClient(url);
  onTestFinished(client.close);
  const { signal } = new AbortController();
  const ending = new AbortController();
  const hung = Array.from({ length: 64 }, () => client.invoke(arnIn(shop, "hang"), "{}", ending.signal));
  await eventually(() => hanging() === 64, "all of them run");

  expect(await client.invoke(arnIn(shop, "resize"), "{}", signal)).toBe("not-invoked");
  expect(await client.invoke(arnIn(bakery, "resize"), "{}", signal)).toBe(undefined);

  ending.abort();
  await Promise.allSettled(hung);
  expect(await client.invoke(arnIn(shop, "resize"), "{}", signal)).toBe(undefined);
});
