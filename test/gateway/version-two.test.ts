import { createHmac } from "node:crypto";

import { expect, onTestFinished, test } from "vitest";

import { formBody, formHeaders } from "./support/form.ts";
import { startFixture } from "./support/fixture.ts";
import { send, testKey } from "./support/signing-client.ts";

const sign = (text: string): string => createHmac("sha1", testKey.secretAccessKey).update(text).digest("base64");

/** A URL that ends an hour after the fixture's clock. */
const link = (): string => {
  const expires = Date.UTC(2026, 0, 2, 4, 4, 5) / 1000;
  const signature = encodeURIComponent(sign(`GET\n\n\n${expires}\n/novels/emma`));
  return `/novels/emma?AWSAccessKeyId=${testKey.accessKeyId}&Expires=${expires}&Signature=${signature}`;
};

const form = (): string => {
  const conditions = [{ bucket: "novels" }, ["starts-with", "$key", ""]];
  const document = { expiration: "2026-01-02T04:00:00.000Z", conditions };
  const policy = Buffer.from(JSON.stringify(document)).toString("base64");
  return formBody({ key: "emma", policy, AWSAccessKeyId: testKey.accessKeyId, signature: sign(policy) }, "Emma");
};

// what the installation accepts, the statuses of a URL and of a form
test.each([
  [undefined, 200, 204],
  ["week", 200, 204],
  ["refuse", 400, 400],
] as const)("version 2 of signatures where the rule is %s", async (versionTwo, ofLink, ofForm) => {
  const fixture = await startFixture({}, versionTwo === undefined ? {} : { versionTwo });
  onTestFinished(() => fixture.stop());
  fixture.answer("GetBook", async function* () {
    yield {};
  });
  const read = await send(fixture.url, { method: "GET", target: link() }, {});
  const upload = { method: "POST", target: "/novels", headers: formHeaders, body: form() };
  const stored = await send(fixture.url, upload, formHeaders);
  expect([read.status, stored.status]).toEqual([ofLink, ofForm]);
});
