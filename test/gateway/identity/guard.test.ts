import { expect, onTestFinished, test } from "vitest";

import { IdentityService } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { guard } from "../../../gateway/identity/access/guard.ts";
import { decisionsByPermission } from "../../support/guarded-service.ts";
import { openIdentity } from "./identity.ts";

const members = {
  userName: "alice",
  groupName: "team",
  roleName: "reader",
  policyName: "own",
  policyArn: "arn:aws:iam::000000000000:policy/reading",
  accessKeyId: "AKIA0000000000000000",
  accountId: "111122223333",
  tags: [{ key: "team", value: "sales" }],
};

test("no operation on identities is reached without each of its permissions, and every one with them", async () => {
  const identity = await openIdentity();
  onTestFinished(identity.close);
  const lines = await decisionsByPermission(IdentityService, "iam", { guard, app: identity.app, members });
  // A user with nothing, with all that is declared, and without each of them in turn.
  expect(lines).toEqual(
    IdentityService.methods.map(({ name }) => `${name} ${name === "RotateAccessKey" ? "-+--" : "-+-"}`),
  );
});
