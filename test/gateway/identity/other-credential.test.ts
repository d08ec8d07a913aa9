import { expect, onTestFinished, test } from "vitest";

import { userCaller } from "../../../services/kit/identity/caller.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;
type Name = Parameters<Opened["call"]>[0];

const open = async (): Promise<Opened> => {
  const opened = await openIdentity({ users: [{ accountId: shop, name: "team/carol", policies: [] }] });
  onTestFinished(opened.close);
  await opened.call("createUser", { userName: "alice" });
  return opened;
};

// the list, its answer
test.for<[Name, object]>([
  ["listMFADevices", { mfaDevices: [], isTruncated: false }],
  ["listSSHPublicKeys", { sshPublicKeys: [], isTruncated: false }],
  ["listSigningCertificates", { certificates: [], isTruncated: false }],
  ["listServiceSpecificCredentials", { serviceSpecificCredentials: [] }],
])("%s is empty for every user, the caller's own and the root", async ([list, answer]) => {
  const { call } = await open();
  const alice = userCaller(shop, "alice", [allowing(`iam:${list}`, `arn:aws:iam::${shop}:user/alice`)]);
  for (const [request, caller] of [[{ userName: "Alice" }], [{ userName: "carol" }], [{}], [{}, alice]] as const)
    expect(await call(list, request, caller)).toEqual(answer);
  await expect(call(list, { userName: "nobody" })).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
});

// the operation, its request, what there is none of
test.for<[Name, object, string]>([
  ["getLoginProfile", { userName: "alice" }, "login profile with name alice"],
  ["deleteLoginProfile", { userName: "Alice" }, "login profile with name alice"],
  ["getLoginProfile", { userName: "nobody" }, "user with name nobody"],
  ["getAccountPasswordPolicy", {}, "account password policy with name 111122223333"],
  ["deleteAccountPasswordPolicy", {}, "account password policy with name 111122223333"],
])("%s %j is refused: there is no %s", async ([name, request, absent]) => {
  const { call } = await open();
  await expect(call(name, request)).rejects.toMatchObject({
    facts: { reason: "NO_SUCH_ENTITY" },
    message: `The ${absent} cannot be found.`,
  });
});

test("an account has neither devices nor aliases, providers of SAML and certificates", async () => {
  const { call } = await open();
  expect(await call("listSAMLProviders", {})).toEqual({ samlProviderList: [] });
  const certificates = { serverCertificateMetadataList: [], isTruncated: false };
  expect(await call("listServerCertificates", { pathPrefix: "/" })).toEqual(certificates);
  expect(await call("listVirtualMFADevices", {})).toEqual({ virtualMfaDevices: [], isTruncated: false });
  expect(await call("listAccountAliases", {})).toEqual({ accountAliases: [], isTruncated: false });
});

test("the summary of an account counts declared and created entities, and names its quotas", async () => {
  const { call } = await open();
  await call("createGroup", { groupName: "all" });
  await call("createInstanceProfile", { instanceProfileName: "web" });
  expect(await call("getAccountSummary", {})).toEqual({
    summaryMap: {
      Users: 2,
      UsersQuota: 5000,
      Groups: 1,
      GroupsQuota: 300,
      GroupsPerUserQuota: 10,
      Roles: 0,
      RolesQuota: 1000,
      Policies: 0,
      PoliciesQuota: 1500,
      PolicySizeQuota: 6144,
      VersionsPerPolicyQuota: 5,
      AttachedPoliciesPerUserQuota: 10,
      AttachedPoliciesPerGroupQuota: 10,
      AttachedPoliciesPerRoleQuota: 10,
      UserPolicySizeQuota: 2048,
      GroupPolicySizeQuota: 5120,
      RolePolicySizeQuota: 10_240,
      AssumeRolePolicySizeQuota: 4096,
      InstanceProfiles: 1,
      InstanceProfilesQuota: 1000,
      Providers: 0,
      AccessKeysPerUserQuota: 2,
      AccountMFAEnabled: 0,
      MFADevices: 0,
      MFADevicesInUse: 0,
    },
  });
});
