import { once } from "node:events";
import type { LookupAddress } from "node:dns";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

import { describe, expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../services/kit/clock/clock.ts";
import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import type { CertificateFiles, TestAuthority } from "../../support/certificates.ts";
import { certifyByItself, createAuthority } from "../../support/certificates.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startSecureBackend } from "../backend.ts";
import type { HarnessOptions } from "../harness.ts";
import { makeApplication, makeDefaultRoute, makeService, proxyUrlOf, startHarness } from "../harness.ts";

const host = "shop.corp.example";
const here: LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];
const inside: LookupAddress[] = [{ address: "10.0.0.1", family: 4 }];
const outside: LookupAddress[] = [{ address: "1.1.1.1", family: 4 }];
const notFound = () => Object.assign(new Error("no such name"), { code: "ENOTFOUND", syscall: "getaddrinfo" });

/** Names that lead where the test says; all others lead to this machine. */
const resolving = (names: Readonly<Record<string, LookupAddress[] | Error>>) => async (hostname: string) => {
  const answer = names[hostname] ?? here;
  if (answer instanceof Error) throw answer;
  return answer;
};

const sourceOf = ({ file }: TestAuthority) =>
  openTlsFiles({ certificate: "", key: "", authority: file }, systemClock, silentLogger);

const startShop = async (certificate: CertificateFiles, options: HarnessOptions) => {
  const backend = await startSecureBackend("shop", certificate);
  const harness = await startHarness({ resolve: resolving({}), ...options });
  const place = await makeApplication(harness.client);
  const service = await makeService(harness.client, place, `https://${host}:${backend.port}`);
  return { ...harness, backend, place, service, url: await proxyUrlOf(harness.client, place) };
};

type Shop = Awaited<ReturnType<typeof startShop>>;

/** Activates the default route; answers why it failed, or undefined. */
const problemOf = async ({ client, place, service }: Shop): Promise<string | undefined> => {
  await makeDefaultRoute(client, place, service).catch(() => {});
  const [route] = (await client.listRoutes(place)).routeSummaryList;
  return route?.error?.message;
};

const answerOf = async (url: string): Promise<[number, string]> => {
  const answer = await fetch(url);
  const text = await answer.text();
  return [answer.status, answer.ok ? text : (JSON.parse(text) as { message: string }).message];
};

/** A public authority, a private one of `corp.example`, and certificates of both. */
const startAuthorities = async () => {
  const directory = await temporaryDirectory();
  const known = await createAuthority(directory, "known");
  const own = await createAuthority(directory, "own");
  const hosts = [host];
  return {
    directory,
    hosts,
    known,
    own,
    publicAuthorities: [await readFile(known.file, "utf8")],
    valid: await known.certify("valid", { hosts }),
    ofOwn: await own.certify("of-own", { hosts }),
  };
};

describe("a service over HTTPS", () => {
  test("gets traffic when its certificate is publicly signed, over a WebSocket too", async () => {
    const { valid, publicAuthorities } = await startAuthorities();
    const shop = await startShop(valid, { publicAuthorities });
    expect(await problemOf(shop)).toBeUndefined();
    expect(await answerOf(`${shop.url}/cart`)).toEqual([200, "shop GET /cart"]);

    shop.backend.server.on("upgrade", (_request, socket) =>
      socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"),
    );
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const upgrading = httpRequest(`${shop.url}/live`, { headers }).end();
    const [answer] = (await once(upgrading, "upgrade")) as [{ statusCode: number }];
    expect(answer.statusCode).toBe(101);
  });

  const refusedCertificates: [
    string,
    (given: Awaited<ReturnType<typeof startAuthorities>>) => Promise<CertificateFiles>,
    string,
    string,
  ][] = [
    // certificate, how it is made, what is wrong, code in the log
    [
      "that has expired",
      ({ known, hosts }) => known.certify("old", { hosts, validFromDays: -3, validToDays: -1 }),
      "has expired",
      "CERT_HAS_EXPIRED",
    ],
    [
      "that is not valid yet",
      ({ known, hosts }) => known.certify("new", { hosts, validFromDays: 1, validToDays: 2 }),
      "is not valid yet",
      "CERT_NOT_YET_VALID",
    ],
    [
      "of another host",
      ({ known }) => known.certify("other", { hosts: ["bank.example"] }),
      "is for another host",
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
    [
      "that it signed itself",
      ({ directory, hosts }) => certifyByItself(directory, "self", { hosts }),
      "is signed by itself",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    ],
    [
      "of an unknown authority",
      async ({ ofOwn }) => ofOwn,
      "is not signed by a trusted authority",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
  ];

  test.each(refusedCertificates)("gets no traffic with a certificate %s", async (_which, make, problem, code) => {
    const authorities = await startAuthorities();
    const refused = await make(authorities);
    const { log, lines } = capturingLogger("warn");
    const shop = await startShop(refused, { publicAuthorities: authorities.publicAuthorities, log });
    expect(await problemOf(shop)).toBe(`The health check of the service failed: its certificate ${problem}.`);
    expect(shop.backend.asked).toEqual([]);

    await shop.backend.renew(authorities.valid);
    const [route] = (await shop.client.listRoutes(shop.place)).routeSummaryList;
    await shop.client.deleteRoute({ ...shop.place, routeIdentifier: route?.routeId ?? "" });
    expect(await problemOf(shop)).toBeUndefined();
    await shop.backend.renew(refused);
    const asked = shop.backend.asked.length;
    expect(await answerOf(`${shop.url}/cart`)).toEqual([502, `The service's certificate ${problem}.`]);
    expect(shop.backend.asked).toHaveLength(asked);
    expect(lines.map(({ msg, err }) => [msg, (err as { code?: string }).code])).toEqual([
      ["a proxied request failed", code],
    ]);
  });

  test("is not trusted for an authority that the machine adds to those of Node", async () => {
    const { own, ofOwn } = await startAuthorities();
    const former = getCACertificates("default");
    onTestFinished(() => setDefaultCACertificates(former));
    setDefaultCACertificates([...former, await readFile(own.file, "utf8")]);
    expect(await problemOf(await startShop(ofOwn, {}))).toBe(
      "The health check of the service failed: its certificate is not signed by a trusted authority.",
    );
  });
});

describe("a private authority", () => {
  const unknown = "The health check of the service failed: its certificate is not signed by a trusted authority.";

  test.each<[string, string, LookupAddress[] | Error, string | undefined]>([
    // the authority's domain, which, its addresses, why the route fails
    ["corp.example", "which is public and above the host", outside, undefined],
    [host, "which is the host and private", outside, unknown],
    ["corp.example", "with a private address", inside, unknown],
    ["corp.example", "with a public and a private address", [...outside, ...inside], unknown],
    ["corp.example", "without addresses", notFound(), unknown],
    ["bank.example", "which the host is not in", outside, unknown],
    ["orp.example", "with whose letters alone the host ends", outside, unknown],
  ])("of the domain %s, %s", async (domain, _which, addresses, problem) => {
    const { own, ofOwn, publicAuthorities } = await startAuthorities();
    const resolve = resolving({ [domain]: addresses, [host]: here });
    const privateAuthorities = new Map([[domain, sourceOf(own)]]);
    const shop = await startShop(ofOwn, { publicAuthorities, privateAuthorities, resolve });
    expect(await problemOf(shop)).toBe(problem);
  });

  test("is trusted next to the public ones, and no longer when its domain is not public any more", async () => {
    const { own, ofOwn, valid, publicAuthorities } = await startAuthorities();
    const names: Record<string, LookupAddress[] | Error> = { "corp.example": outside };
    const privateAuthorities = new Map([["corp.example", sourceOf(own)]]);
    const { log, lines } = capturingLogger("info");
    const shop = await startShop(ofOwn, { publicAuthorities, privateAuthorities, resolve: resolving(names), log });
    expect(await problemOf(shop)).toBeUndefined();
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "shop GET /"]);
    await shop.backend.renew(valid);
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "shop GET /"]);
    await shop.backend.renew(ofOwn);

    names["corp.example"] = notFound();
    shop.clock.advance(60_000);
    expect(await answerOf(`${shop.url}/`)).toEqual([
      502,
      "The service's certificate is not signed by a trusted authority.",
    ]);
    expect(lines.filter(({ domain }) => domain === "corp.example").map(({ msg }) => msg)).toEqual([
      "trusts a private authority",
      "trusts no private authority without a public domain",
    ]);
  });

  test("stays trusted while it is not known whether its domain is public", async () => {
    const { own, ofOwn, publicAuthorities } = await startAuthorities();
    const names: Record<string, LookupAddress[] | Error> = { "corp.example": outside };
    const privateAuthorities = new Map([["corp.example", sourceOf(own)]]);
    const shop = await startShop(ofOwn, { publicAuthorities, privateAuthorities, resolve: resolving(names) });
    expect(await problemOf(shop)).toBeUndefined();
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "shop GET /"]);
    names["corp.example"] = Object.assign(new Error("try again"), { code: "EAI_AGAIN", syscall: "getaddrinfo" });
    shop.clock.advance(60_000);
    expect(await answerOf(`${shop.url}/`)).toEqual([200, "shop GET /"]);
  });
});
