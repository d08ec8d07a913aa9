import { expect, onTestFinished, test } from "vitest";

import { TrustedProxies } from "../../services/kit/identity/trusted-proxies.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { eventually } from "../support/eventually.ts";
import type { Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";
import { send } from "./support/signing-client.ts";

const start = async (trusted: readonly string[]): Promise<Fixture> => {
  const fixture = await startFixture({}, { offersRpcs: true, trustedProxies: new TrustedProxies(trusted) });
  onTestFinished(() => fixture.stop());
  return fixture;
};

const said = { "x-forwarded-for": "192.0.2.9, 198.51.100.1", "x-forwarded-proto": "https" };
const ofConnection = { sourceIp: "127.0.0.1", isSecureTransport: false };
const ofProxy = { sourceIp: "198.51.100.1", isSecureTransport: true };

test.each([
  // what is trusted, where the caller is
  [["127.0.0.0/8"], ofProxy],
  [["192.0.2.0/24"], ofConnection],
  [[], ofConnection],
])(
  "of a gateway that trusts %j the caller of a request, of a signed RPC and of nobody is at %j",
  async (trusted, at) => {
    const fixture = await start(trusted);
    const request = { method: "GET", target: "/", headers: said };
    await fixture.call("object-storage", "amz", request);
    await send(fixture.url, request, said);
    const json = { "content-type": "application/json", ...said };
    const target = "/quartet.test.gateway.v1.NoticeService/PutNotices";
    await fixture.call("event-bus", "amz", {
      method: "POST",
      target,
      headers: json,
      body: '{"entries":[{"source":"Ada"}]}',
    });
    expect(fixture.received.map(({ caller }) => caller)).toMatchObject([at, at, at]);
  },
);

test("the line of a request in the log has the address of its client", async () => {
  const { log, lines } = capturingLogger("info");
  const trustedProxies = new TrustedProxies(["127.0.0.1"]);
  const fixture = await startFixture({}, { log, trustedProxies });
  onTestFinished(() => fixture.stop());
  await send(fixture.url, { method: "GET", target: "/", headers: said }, said);
  await eventually(() => lines.some(({ msg }) => msg === "request"), "the request is logged");
  expect(lines.find(({ msg }) => msg === "request")).toMatchObject({ client: "198.51.100.1" });
});

test("each request of a connection is its own client's", async () => {
  const fixture = await start(["127.0.0.1"]);
  const clients = ["198.51.100.1", "198.51.100.2", "198.51.100.1"];
  for (const client of clients)
    await fixture.call("object-storage", "amz", { method: "GET", target: "/", headers: { "x-forwarded-for": client } });
  expect(fixture.received.map(({ caller }) => caller.sourceIp)).toEqual(clients);
});
