/**
 * Each record of the identities is damaged in turn, one of each table, and the store opened on it: it must open,
 * and the identities of other accounts must be served as before. See test/support/damage-campaign.ts.
 */
import { expect, test } from "vitest";

import { layout } from "../../../gateway/identity/store/layout.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import { defaultAccountId } from "../../../services/kit/identity/access-keys.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import type { Logger } from "../../../services/kit/log/log.ts";
import { StoreCorruptionError } from "../../../services/kit/store/errors.ts";
import type { Campaign, CampaignService, Outcome } from "../../support/damage-campaign.ts";
import { runCampaign } from "../../support/damage-campaign.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

const bakery = "444455556666";

type Opened = Awaited<ReturnType<typeof openIdentity>>;
type Call = readonly [name: Parameters<Opened["call"]>[0], request: object];

/** An access key of an account. */
interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }],
});
const user = { userName: "ada" };
const group = { groupName: "readers" };
const role = { roleName: "nightly" };
const profile = { instanceProfileName: "web" };

const fillAccount = async ({ call, keyUses }: Opened, account: string): Promise<Key> => {
  const by = rootCaller(account);
  await call("createAccount", { accountName: account }, rootCaller(defaultAccountId));
  await call("createUser", user, by);
  await call("createGroup", group, by);
  await call("addUserToGroup", { ...user, ...group }, by);
  await call("createPolicy", { policyName: "reading", policyDocument: allowing("s3:Get*") }, by);
  await call("createRole", { ...role, assumeRolePolicyDocument: trust }, by);
  await call("createInstanceProfile", profile, by);
  await call("createOpenIDConnectProvider", { url: "https://issuer.example.com", clientIdList: ["client"] }, by);
  const { accessKey } = await call("createAccessKey", user, by);
  const key = accessKey as Key;
  keyUses.note({ accountId: account, accessKeyId: key.accessKeyId, service: "s3", region: "us-east-1" });
  return key;
};

const callsOf = (account: string, { accessKeyId }: Key): readonly Call[] => [
  ["getUser", user],
  ["listUsers", {}],
  ["listGroupsForUser", user],
  ["listAccessKeys", user],
  ["getAccessKeyLastUsed", { accessKeyId }],
  ["getGroup", group],
  ["listGroups", {}],
  ["getRole", role],
  ["listRoles", {}],
  ["getPolicy", { policyArn: `arn:aws:iam::${account}:policy/reading` }],
  ["listPolicies", {}],
  ["getInstanceProfile", profile],
  ["listOpenIDConnectProviders", {}],
  ["createUser", { userName: "new" }],
  ["createAccessKey", { userName: "new" }],
  ["deleteRole", role],
  ["createRole", { ...role, assumeRolePolicyDocument: trust }],
];

/** As the server of RPCs answers and logs. */
const outcomeOf = async (call: Promise<unknown>, log: Logger): Promise<string> => {
  try {
    await call;
    return "answered";
  } catch (error) {
    if (error instanceof ServiceError) return error.facts.reason;
    log.error({ err: error });
    return error instanceof StoreCorruptionError ? "DATA_LOSS" : `INTERNAL: ${String(error)}`;
  }
};

test("no damaged record keeps the identities from being opened, or other accounts from being served", async () => {
  const keys = new Map<string, Key>();
  const fill: Campaign["fill"] = async (noteOwn) => {
    const directory = await temporaryDirectory();
    const opened = await openIdentity({}, directory);
    for (const account of [shop, bakery]) {
      keys.set(account, await fillAccount(opened, account));
      if (account === shop) await noteOwn(opened.store);
    }
    await opened.close();
    return directory;
  };
  const start = async (directory: string, log: Logger): Promise<CampaignService> => {
    const opened = await openIdentity({}, directory, log);
    return {
      call: async (tenant) => {
        const account = tenant === "own" ? shop : bakery;
        const key = keys.get(account) as Key;
        const outcomes: Outcome[] = [];
        for (const [name, request] of callsOf(account, key))
          outcomes.push([name, await outcomeOf(opened.call(name, request, rootCaller(account)), log)]);
        return outcomes;
      },
      passSecond: () => Promise.resolve(opened.clock.advance(1_000)),
      stop: opened.close,
    };
  };
  const { problems, cases } = await runCampaign({ layout, fill, start });
  expect(problems).toEqual([]);
  expect(cases).toBeGreaterThan(layout.length);
});
