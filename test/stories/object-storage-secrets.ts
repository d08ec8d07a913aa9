import { createHash, createHmac } from "node:crypto";

import { expect } from "vitest";

import type { TestRequest } from "../gateway/support/signing-client.ts";
import { testKey } from "../gateway/support/signing-client.ts";
import type { SecretCalls } from "./secret-calls.ts";

/** Keys of callers, session tokens, page tokens and signed URLs. */
export const giveObjectStorage = async (calls: SecretCalls): Promise<void> => {
  const { plant, note } = calls.secrets;
  const s3 = (request: TestRequest, secret?: string) => calls.signed("s3", request, secret);
  await calls.succeeds(s3({ method: "PUT", target: "/vault" }));
  for (const key of ["a", "b", "c"]) await calls.succeeds(s3({ method: "PUT", target: `/vault/${key}`, body: key }));

  const customerKey = (place: string): Record<string, string> => {
    const key = Buffer.from(plant(place).padEnd(32, "x").slice(0, 32));
    return {
      "x-amz-server-side-encryption-customer-algorithm": "AES256",
      "x-amz-server-side-encryption-customer-key": note(`${place}, encoded`, key.toString("base64")),
      "x-amz-server-side-encryption-customer-key-md5": createHash("md5").update(key).digest("base64"),
    };
  };
  const withKey = (place: string, more: object = {}, secret?: string) =>
    s3({ method: "PUT", target: "/vault/locked", headers: { ...customerKey(place), ...more }, body: "x" }, secret);
  // Whether the service encrypts with it or refuses it, the key stays inside.
  calls.refusals.set("a customer's key", (await withKey("a customer's key")).body);
  await calls.fails(
    "a customer's key with a wrong digest",
    withKey("a key with a wrong digest", { "x-amz-server-side-encryption-customer-key-md5": "AAAA" }),
  );
  await calls.fails(
    "a customer's key of a wrong algorithm",
    withKey("a key of a wrong algorithm", { "x-amz-server-side-encryption-customer-algorithm": "DES" }),
  );
  await calls.fails("a customer's key under a wrong signature", withKey("a key under a wrong signature", {}, "wrong"));
  await calls.fails(
    "a session token that nobody gave",
    s3({ method: "GET", target: "/vault", headers: { "x-amz-security-token": plant("a session token") } }),
  );
  await calls.fails(
    "a session token under a wrong signature",
    s3(
      {
        method: "GET",
        target: "/vault",
        headers: { "x-amz-security-token": plant("a session token, wrongly signed") },
      },
      "wrong",
    ),
  );

  const page = await calls.succeeds(s3({ method: "GET", target: "/vault?list-type=2&max-keys=1" }));
  const token = note("a real page token", /<NextContinuationToken>([^<]+)</.exec(page.body)?.[1] ?? "");
  expect(token.length).toBeGreaterThan(20);
  await calls.succeeds(
    s3({ method: "GET", target: `/vault?continuation-token=${encodeURIComponent(token)}&list-type=2` }),
  );
  await calls.fails(
    "a page token of another listing",
    s3({ method: "GET", target: `/vault?continuation-token=${encodeURIComponent(token)}&list-type=2&prefix=z` }),
  );
  await calls.fails(
    "a made-up page token",
    s3({ method: "GET", target: `/vault?continuation-token=${plant("a made-up continuation token")}&list-type=2` }),
  );

  const url = (place: string, target: string, expires = 60): string => {
    const link = signedUrl(calls, target, expires);
    note(place, new URL(link).searchParams.get("X-Amz-Signature") ?? "");
    return link;
  };
  const got = await fetch(url("the signature of a URL", "/vault/a"));
  expect(await got.text()).toBe("a");
  await calls.fails("a signed URL for nothing", fetch(url("the signature of a URL for nothing", "/vault/none")));
  await calls.fails("a signed URL that has expired", fetch(url("the signature of an expired URL", "/vault/a", -60)));
  const tampered = url("the signature of a URL that was changed", "/vault/a").replace(/.$/, (last) =>
    last === "0" ? "1" : "0",
  );
  await calls.fails("a signed URL with another signature", fetch(tampered));
  await calls.fails(
    "a signed URL with a session token",
    fetch(
      `${url("the signature of a URL with more", "/vault/a")}&X-Amz-Security-Token=${plant("a session token in a URL")}`,
    ),
  );
};

const signedUrl = (calls: SecretCalls, target: string, expires: number): string => {
  const host = new URL(calls.system.gatewayUrl).host;
  const time = new Date(expires < 0 ? Date.now() - 120_000 : Date.now()).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const query = new URLSearchParams({
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${testKey.accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(Math.abs(expires)),
    "X-Amz-SignedHeaders": "host",
  });
  const canonical = ["GET", target, query, `host:${host}`, "", "host", "UNSIGNED-PAYLOAD"].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  let key = Buffer.from(`AWS4${calls.secretAccessKey}`);
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  const signature = createHmac("sha256", key).update(["AWS4-HMAC-SHA256", time, scope, hash].join("\n")).digest("hex");
  return `http://${host}${target}?${query.toString()}&X-Amz-Signature=${signature}`;
};
