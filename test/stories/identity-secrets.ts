import assert from "node:assert/strict";

import type { TestResponse } from "../gateway/support/signing-client.ts";
import type { SecretCalls } from "./secret-calls.ts";

/** Creates a user with a key, and sessions, over the query protocols. */
export const giveIdentities = async (calls: SecretCalls): Promise<void> => {
  const { plant, note } = calls.secrets;
  const iam = (parameters: Record<string, string>) => query(calls, "iam", { Version: "2010-05-08", ...parameters });
  const sts = (parameters: Record<string, string>) => query(calls, "sts", { Version: "2011-06-15", ...parameters });

  await calls.succeeds(iam({ Action: "CreateUser", UserName: "hushed" }));
  const key = await calls.succeeds(iam({ Action: "CreateAccessKey", UserName: "hushed" }));
  note("the secret of a created key", element(key, "SecretAccessKey"));
  const session = await calls.succeeds(sts({ Action: "GetSessionToken" }));
  note("the secret of a session", element(session, "SecretAccessKey"));
  note("the token of a session", element(session, "SessionToken"));

  const audience = { "Audience.member.1": "object-storage", "Audience.member.2": "gateway" };
  const asking = { Action: "GetWebIdentityToken", ...audience, SigningAlgorithm: "ES384" };
  const bearer = element(await calls.succeeds(sts(asking)), "WebIdentityToken");
  note("a token that a program shows", bearer);
  const target = `${calls.system.gatewayUrl}/quartet.objectstorage.v1.ObjectStorageService`;
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const listed = await fetch(`${target}/ListBuckets`, { method: "POST", headers, body: "{}" });
  assert.equal(listed.status, 200);
  const missing = fetch(`${target}/GetBucketLocation`, { method: "POST", headers, body: '{"bucket":"no-bucket"}' });
  await calls.fails("a call with a token for what is not there", missing);

  const roleArn = "arn:aws:iam::000000000000:role/nobody";
  const asked = { RoleArn: roleArn, RoleSessionName: "hushed" };
  await calls.fails(
    "a role with a device",
    sts({ Action: "AssumeRole", ...asked, SerialNumber: "device-0001", TokenCode: plant("a device's code") }),
  );
  await calls.fails(
    "a made-up web identity",
    sts({ Action: "AssumeRoleWithWebIdentity", ...asked, WebIdentityToken: plant("a web identity token") }),
  );
  await calls.fails(
    "a user with the wrong secret",
    query(calls, "iam", { Action: "ListUsers", Version: "2010-05-08" }, plant("a wrong secret for users")),
  );
};

const query = (
  calls: SecretCalls,
  service: string,
  parameters: Record<string, string>,
  secret?: string,
): Promise<TestResponse> => {
  const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  const body = new URLSearchParams(parameters).toString();
  return calls.signed(service, { method: "POST", target: "/", headers, body }, secret);
};

/** The text of an element of an XML answer. */
const element = ({ body }: TestResponse, name: string): string => {
  const [, text] = new RegExp(`<${name}>([^<]+)</${name}>`).exec(body) ?? [];
  assert.ok(text !== undefined, body);
  return text;
};
