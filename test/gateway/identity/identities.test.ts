import { randomBytes } from "node:crypto";

import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";

import { UserRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Change, Decided } from "../../../gateway/identity/domain/account-state.ts";
import { openIdentities } from "../../../gateway/identity/identities.ts";
import { accounts, groups, policies, users } from "../../../gateway/identity/store/layout.ts";
import { defaultAccountId } from "../../../services/kit/identity/access-keys.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { secretKey } from "../../../services/kit/keyring/sealed.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

/** The root of the first account. */
const operator = rootCaller(defaultAccountId);
const bakery = "444455556666";

const creating = (name: string): Decided<string> => {
  const record = create(UserRecordSchema, { name, path: "/", policies: {} });
  return { changes: [{ kind: "user", name, record } satisfies Change], result: name };
};

/** Identities over a store whose next transaction waits until the test lets it go on. */
const openHeld = async () => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let isHeld = false;
  const holding = {
    ...store,
    read: store.read.bind(store),
    transact: async (...parts: Parameters<Store["transact"]>) => {
      if (!isHeld) {
        isHeld = true;
        await released;
      }
      return store.transact(...parts);
    },
  } as unknown as Store;
  const identities = await openIdentities(holding, [secretKey(randomBytes(32))], silentLogger);
  return { identities, release, isHeld: () => isHeld };
};

test("changes of an account wait for each other, and not for those of another account", async () => {
  const { identities, release, isHeld } = await openHeld();
  const first = identities.change(shop, () => creating("ada"));
  await eventually(isHeld, "the first change is being written");
  const second = identities.change(shop, ({ user }) => creating(user.has("ada") ? "bob" : "too early"));
  expect(await identities.change(bakery, () => creating("cleo"))).toBe("cleo");
  expect([...identities.state(shop).user.keys()]).toEqual([]);
  release();
  expect(await Promise.all([first, second])).toEqual(["ada", "bob"]);
});

test("of two accounts that are created together with one address one is refused", async () => {
  const { call, close } = await openIdentity();
  onTestFinished(close);
  const created = await Promise.allSettled(
    ["A", "B"].map((accountName) => call("createAccount", { accountName, email: "ada@example.com" }, operator)),
  );
  expect(created.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("a start with damaged records has all others, and whoever has a damaged policy may do nothing", async () => {
  const directory = await temporaryDirectory();
  const first = await openIdentity({}, directory);
  for (const userName of ["ada", "bob", "cleo", "dora"]) await first.call("createUser", { userName });
  await first.call("createGroup", { groupName: "Readers" });
  await first.call("addUserToGroup", { groupName: "Readers", userName: "bob" });
  const policyArn = `arn:aws:iam::${shop}:policy/reading`;
  await first.call("createPolicy", { policyName: "reading", policyDocument: allowing("s3:Get*") });
  await first.call("attachUserPolicy", { userName: "cleo", policyArn });
  await first.close();
  await damageStoredRecord(directory, users, [shop, "ada"]);
  await damageStoredRecord(directory, groups, [shop, "readers"]);
  await damageStoredRecord(directory, policies, [shop, "reading"]);

  const second = await openIdentity({}, directory);
  onTestFinished(second.close);
  const policiesOf = (name: string) => second.stored.findUser(shop, name)?.policies.map((each) => JSON.parse(each));
  const denyingAll = {
    Version: "2012-10-17",
    Statement: [{ Effect: "Deny", Action: "*", Resource: "*" }],
  };
  expect(["ada", "bob", "cleo", "dora"].map(policiesOf)).toEqual([undefined, [denyingAll], [denyingAll], []]);
});

test("a start with a damaged account has the others", async () => {
  const directory = await temporaryDirectory();
  const first = await openIdentity({}, directory);
  const created = [];
  for (const accountName of ["A", "B"]) created.push(await first.call("createAccount", { accountName }, operator));
  const [lost, kept] = created.map(({ account }) => (account as { readonly id: string }).id);
  await first.close();
  await damageStoredRecord(directory, accounts, [lost as string]);
  const second = await openIdentity({}, directory);
  onTestFinished(second.close);
  const listed = (await second.call("listAccounts", {}, operator)) as {
    readonly accounts: readonly { readonly id: string }[];
  };
  expect(listed.accounts.map(({ id }) => id)).toEqual([kept]);
});
