import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";

import { describe, expect, test } from "vitest";

import { capturingLogger } from "../../support/capturing-logger.ts";
import { createAuthority } from "../../support/certificates.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startBackend, startSecureBackend } from "../backend.ts";
import type { HarnessOptions } from "../harness.ts";
import { makeApplication, makeDefaultRoute, makeService, ownerAccount, proxyUrlOf, startHarness } from "../harness.ts";
import { startHttpProxy } from "../http-proxy.ts";

/** The link of applications in the VPC of `makeApplication`. */
const ownLink = `${ownerAccount}/vpc-0a1b2c3d`;
const v4 = (...addresses: string[]): LookupAddress[] => addresses.map((address) => ({ address, family: 4 }));

/** An application whose default route leads to `shop.example`, which has the addresses that the test says. */
const startShop = async (origin: string, addresses: LookupAddress[], options: HarnessOptions) => {
  const names = { addresses };
  const resolve = async () => names.addresses;
  const harness = await startHarness({ allowsPrivateTargets: false, resolve, ...options });
  const place = await makeApplication(harness.client);
  const service = await makeService(harness.client, place, origin);
  return { ...harness, names, place, service, url: await proxyUrlOf(harness.client, place) };
};

type Shop = Awaited<ReturnType<typeof startShop>>;

const problemOf = async ({ client, place, service }: Shop): Promise<string | undefined> => {
  await makeDefaultRoute(client, place, service).catch(() => {});
  const [route] = (await client.listRoutes(place)).routeSummaryList;
  return route?.error?.message;
};

const answerOf = async (url: string): Promise<[number, string]> => {
  const answer = await fetch(url);
  return [answer.status, await answer.text()];
};

describe("traffic to a private address", () => {
  test("goes through the application's private link, its health check too", async () => {
    const backend = await startBackend("inside");
    const link = await startHttpProxy({ "10.0.0.7:80": backend.port });
    const egress = await startHttpProxy({});
    const options = { privateLinks: { [ownLink]: link.url }, egressProxy: egress.url };
    const shop = await startShop("http://shop.example/v1", v4("10.0.0.7"), options);
    expect(await problemOf(shop)).toBeUndefined();
    expect(backend.asked).toEqual(["GET /v1"]);
    expect(await answerOf(`${shop.url}/cart?a=b`)).toEqual([200, "inside GET /v1/cart?a=b"]);
    expect(await answerOf(`${shop.url}/cart`)).toEqual([200, "inside GET /v1/cart"]);
    // One connection is of the health check, the other is kept for both requests.
    expect([link.asked, egress.asked]).toEqual([["10.0.0.7:80", "10.0.0.7:80"], []]);
  });

  test("is verified over HTTPS at the far end of the link, and upgraded there", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    const publicAuthorities = [await readFile(authority.file, "utf8")];
    const backend = await startSecureBackend("inside", await authority.certify("shop", { hosts: ["shop.example"] }));
    const link = await startHttpProxy({ "10.0.0.7:443": backend.port });
    const options = { privateLinks: { [ownLink]: link.url }, publicAuthorities };
    const shop = await startShop("https://shop.example", v4("10.0.0.7"), options);
    expect(await problemOf(shop)).toBeUndefined();
    expect(await answerOf(`${shop.url}/cart`)).toEqual([200, "inside GET /cart"]);

    backend.server.on("upgrade", (_request, socket) =>
      socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"),
    );
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const upgrading = httpRequest(`${shop.url}/live`, { headers }).end();
    const [answer] = (await once(upgrading, "upgrade")) as [{ statusCode: number }];
    expect([answer.statusCode, link.asked.at(-1)]).toEqual([101, "10.0.0.7:443"]);
  });

  test("goes to the next address when the link cannot reach the first", async () => {
    const backend = await startBackend("second");
    const link = await startHttpProxy({ "10.0.0.8:80": backend.port });
    const options = { privateLinks: { [ownLink]: link.url } };
    const shop = await startShop("http://shop.example", v4("10.0.0.7", "10.0.0.8"), options);
    expect(await problemOf(shop)).toBeUndefined();
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "second GET /"]);
    expect(link.asked.slice(-2)).toEqual(["10.0.0.7:80", "10.0.0.8:80"]);
  });

  test.each([
    ["of another VPC", `${ownerAccount}/vpc-11111111`],
    ["of another account", "111122223333/vpc-0a1b2c3d"],
  ])("does not go through the link %s", async (_whose, name) => {
    const link = await startHttpProxy({});
    const shop = await startShop("http://shop.example", v4("10.0.0.7"), { privateLinks: { [name]: link.url } });
    expect(await problemOf(shop)).toBe(
      "The health check of the service failed: its address is private, which is not allowed.",
    );
    expect(link.asked).toEqual([]);
  });

  test("is 502 when the link refuses it, which the log explains", async () => {
    const backend = await startBackend("inside");
    const ports: Record<string, number> = { "10.0.0.7:80": backend.port };
    const link = await startHttpProxy(ports);
    const { log, lines } = capturingLogger("warn");
    const options = { privateLinks: { [ownLink]: link.url }, log };
    const shop = await startShop("http://shop.example", v4("10.0.0.7"), options);
    expect(await problemOf(shop)).toBeUndefined();
    delete ports["10.0.0.7:80"];
    const [status, body] = await answerOf(`${shop.url}/`);
    expect([status, (JSON.parse(body) as { message: string }).message]).toEqual([
      502,
      "The service could not be reached.",
    ]);
    expect(lines.map(({ err }) => (err as { message: string }).message)).toEqual([
      `${link.url} answered 403 to CONNECT 10.0.0.7:80`,
    ]);
  });
});

describe("traffic to a public address", () => {
  test("goes over the public internet, by the egress proxy where there is one, and never through the link", async () => {
    const inside = await startBackend("inside");
    const outside = await startBackend("outside");
    const link = await startHttpProxy({ "10.0.0.7:80": inside.port });
    const egress = await startHttpProxy({ "1.1.1.1:80": outside.port });
    const options = { privateLinks: { [ownLink]: link.url }, egressProxy: egress.url };
    const shop = await startShop("http://shop.example", v4("1.1.1.1"), options);
    expect(await problemOf(shop)).toBeUndefined();
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "outside GET /"]);
    expect([link.asked, outside.asked]).toEqual([[], ["GET /"]]);

    shop.names.addresses = v4("10.0.0.7");
    shop.clock.advance(60_000);
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "inside GET /"]);
    expect(link.asked).toEqual(["10.0.0.7:80"]);
    shop.names.addresses = v4("1.1.1.1");
    shop.clock.advance(60_000);
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "outside GET /"]);
    expect(egress.asked).toEqual(["1.1.1.1:80", "1.1.1.1:80", "1.1.1.1:80"]);
  });
});
