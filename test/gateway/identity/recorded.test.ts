import { expect, onTestFinished, test } from "vitest";

import { anonymousCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { openIdentity, root, shop } from "./identity.ts";

const refusedAs = (name: string) => ({ facts: { reason: name } });

test("what changes identities is recorded, and who is refused, without secrets", async () => {
  const { call, recorded, close } = await openIdentity();
  onTestFinished(close);
  await call("createUser", { userName: "alice" });
  const { accessKey } = (await call("createAccessKey", { userName: "alice" })) as {
    accessKey: { secretAccessKey: string };
  };
  await call("listUsers", {});
  await expect(call("listUsers", {}, anonymousCaller)).rejects.toMatchObject(refusedAs("UNAUTHENTICATED"));
  await expect(call("deleteUser", { userName: "alice" }, userCaller(shop, "bob", []))).rejects.toMatchObject(
    refusedAs("ACCESS_DENIED"),
  );
  await expect(call("createAccount", { accountName: "bank" })).rejects.toMatchObject(refusedAs("ACCESS_DENIED"));
  expect(
    recorded.map(({ principal, action, resource, decision, reason }) =>
      [principal, action, resource, decision, reason].join(" "),
    ),
  ).toEqual([
    `${root.principalArn} iam:CreateUser arn:aws:iam::${shop}:user/alice allowed owner`,
    `${root.principalArn} iam:CreateAccessKey arn:aws:iam::${shop}:user/alice allowed owner`,
    "anonymous iam:ListUsers * refused unauthenticated",
    `arn:aws:iam::${shop}:user/bob iam:DeleteUser arn:aws:iam::${shop}:user/alice refused no-allow`,
    `${root.principalArn} iam:CreateAccount * refused no-allow`,
  ]);
  expect(accessKey.secretAccessKey).toHaveLength(40);
  expect(JSON.stringify(recorded)).not.toContain(accessKey.secretAccessKey);
});
