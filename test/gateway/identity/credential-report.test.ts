import { expect, onTestFinished, test } from "vitest";

import { userCaller } from "../../../services/kit/identity/caller.ts";
import { openIdentity, shop } from "./identity.ts";

const none = "N/A,N/A,N/A,N/A";
const header =
  "user,arn,user_creation_time,password_enabled,password_last_used,password_last_changed,password_next_rotation," +
  "mfa_active,access_key_1_active,access_key_1_last_rotated,access_key_1_last_used_date,access_key_1_last_used_region," +
  "access_key_1_last_used_service,access_key_2_active,access_key_2_last_rotated,access_key_2_last_used_date," +
  "access_key_2_last_used_region,access_key_2_last_used_service,cert_1_active,cert_1_last_rotated,cert_2_active," +
  "cert_2_last_rotated";

interface CreatedKey {
  readonly accessKey: { readonly accessKeyId: string };
}

test("the report has the ages and last uses of keys that were created, and says which ones it does not know", async () => {
  const opened = await openIdentity({ users: [{ accountId: shop, name: "team/carol", policies: [] }] });
  onTestFinished(opened.close);
  const { call, clock, keyUses } = opened;
  await call("createUser", { userName: "alice", path: "/staff/" });
  await call("createUser", { userName: "Bob" });
  const { accessKey } = (await call("createAccessKey", { userName: "alice" })) as unknown as CreatedKey;
  clock.advance(3_600_000);
  keyUses.note({ accountId: shop, accessKeyId: accessKey.accessKeyId, service: "s3", region: "eu-west-1" });
  const { accessKey: second } = (await call("createAccessKey", { userName: "alice" })) as unknown as CreatedKey;
  await call("updateAccessKey", { userName: "alice", accessKeyId: second.accessKeyId, status: "Inactive" });
  await call("createUser", { userName: "d,e" });

  expect(await call("generateCredentialReport", {})).toEqual({ state: "COMPLETE" });
  const { content, reportFormat } = (await call("getCredentialReport", {})) as {
    readonly content: Uint8Array;
    readonly reportFormat: string;
  };
  expect(reportFormat).toBe("text/csv");
  const password = "false,N/A,N/A,N/A,false";
  expect(Buffer.from(content).toString("utf8").split("\n")).toEqual([
    header,
    `<root_account>,arn:aws:iam::${shop}:root,1970-01-01T00:00:00+00:00,not_supported,no_information,not_supported,` +
      "not_supported,false," +
      `N/A,${none},N/A,${none},false,N/A,false,N/A`,
    `alice,arn:aws:iam::${shop}:user/staff/alice,2026-01-02T03:04:05+00:00,${password},` +
      "true,2026-01-02T03:04:05+00:00,2026-01-02T04:04:05+00:00,eu-west-1,s3," +
      "false,2026-01-02T04:04:05+00:00,N/A,N/A,N/A,false,N/A,false,N/A",
    `Bob,arn:aws:iam::${shop}:user/Bob,2026-01-02T03:04:05+00:00,${password},` +
      `false,${none},false,${none},false,N/A,false,N/A`,
    `carol,arn:aws:iam::${shop}:user/team/carol,1970-01-01T00:00:00+00:00,${password},` +
      `N/A,${none},N/A,${none},false,N/A,false,N/A`,
    `"d,e","arn:aws:iam::${shop}:user/d,e",2026-01-02T04:04:05+00:00,${password},` +
      `false,${none},false,${none},false,N/A,false,N/A`,
    "",
  ]);
});

test("nobody reads it without the permission", async () => {
  const opened = await openIdentity();
  onTestFinished(opened.close);
  await expect(opened.call("getCredentialReport", {}, userCaller(shop, "eve", []))).rejects.toMatchObject({
    facts: { reason: "ACCESS_DENIED" },
  });
});
