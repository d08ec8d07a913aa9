import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { createAuthority } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startProcess } from "../harness.ts";
import { openShop } from "./shop.ts";

test("an API destination that requests a certificate of its client fails, as one that cannot be reached", async () => {
  const authority = await createAuthority(await temporaryDirectory());
  const { certificate, key } = await authority.certify("till");
  let requests = 0;
  const till = createServer(
    {
      cert: await readFile(certificate),
      key: await readFile(key),
      ca: await readFile(authority.file),
      requestCert: true,
      rejectUnauthorized: true,
    },
    (_request, response) => {
      requests += 1;
      response.end();
    },
  ).listen(0, "127.0.0.1");
  await once(till, "listening");
  onTestFinished(() => void till.close());
  const { client } = await startProcess(await temporaryDirectory(), {
    QUARTET_EVENT_BUS_PRIVATE_TARGETS: "allow",
    NODE_EXTRA_CA_CERTS: authority.file,
  });
  const shop = await openShop(client, {
    destination: { invocationEndpoint: `https://localhost:${(till.address() as AddressInfo).port}/` },
    target: { retryPolicy: { maximumRetryAttempts: 0 } },
  });
  await shop.sell({ n: 1 });
  const [letter] = await eventually(async () => {
    const { deadLetters } = await client.listDeadLetters({});
    return deadLetters.length > 0 && deadLetters;
  }, "the delivery is a dead letter");
  expect([letter?.errorCode, letter?.errorMessage, requests]).toEqual([
    "CONNECTION_FAILURE",
    expect.stringMatching(/^The endpoint could not be reached: [A-Z0-9_]+\.$/),
    0,
  ]);
});
