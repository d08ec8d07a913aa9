import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { joinAccessKeys } from "../../../services/kit/accounts/joined-access-keys.ts";
import { openAccessKeyFile } from "../../../services/kit/identity/access-key-file.ts";
import { callerOf } from "../../../services/kit/identity/access-keys.ts";
import { policiesDigest } from "../../../services/kit/identity/identity-policies.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { allowing, declaredInstallation } from "./installations.ts";

const shop = "111122223333";
const canonicalId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const reading = allowing("s3:GetObject");
const declaring = (...ids: string[]) => ({
  accounts: {
    [shop]: {
      canonicalId,
      accessKeys: ids.map((id) => ({ id, secret: "a declared secret" })),
      users: [{ name: "alice", policies: [reading] }],
    },
  },
});
const filing = (...keys: object[]) => ({
  version: 1,
  accessKeys: keys.map((key) => ({ secretAccessKey: "a filed secret", accountId: shop, ...key })),
});

const joined = async (declared: object, filed: object) => {
  const installation = await declaredInstallation({ "quartet.json": declared, "credentials.json": filed });
  const { directory, clock, lines } = installation;
  const file = await openAccessKeyFile({ path: join(directory, "credentials.json"), clock, ids: randomIds });
  const log = { error: (facts: { accessKeyId: string }) => (lines as string[]).push(facts.accessKeyId) } as never;
  const keys = joinAccessKeys({ file, accounts: installation.open({}), log });
  return { ...installation, keys };
};

describe("the keys of the credentials file and of accounts", () => {
  test("work together, each as what it was declared, with the account's canonical id", async () => {
    const { keys } = await joined(declaring("QKIADECLARED"), filing({ accessKeyId: "QKIAFILED" }));
    expect([keys.find("QKIADECLARED"), keys.find("QKIAFILED"), keys.find("QKIANONE")]).toEqual([
      {
        accessKeyId: "QKIADECLARED",
        secretAccessKey: "a declared secret",
        accountId: shop,
        policies: [],
        canonicalUserId: canonicalId,
      },
      {
        accessKeyId: "QKIAFILED",
        secretAccessKey: "a filed secret",
        accountId: shop,
        policies: [],
        canonicalUserId: canonicalId,
      },
      undefined,
    ]);
  });

  test("are completed once, until what completes them changes", async () => {
    const { keys } = await joined(declaring("QKIADECLARED"), filing({ accessKeyId: "QKIAFILED" }));
    expect(keys.find("QKIAFILED")).toBe(keys.find("QKIAFILED"));
  });

  test("make callers with principal, canonical id and policies", async () => {
    const { keys } = await joined(declaring(), filing({ accessKeyId: "QKIAALICE", user: "alice" }));
    expect(callerOf(keys.find("QKIAALICE")!)).toEqual({
      accountId: shop,
      principalArn: "arn:aws:iam::111122223333:user/alice",
      isRoot: false,
      isAnonymous: false,
      policies: [JSON.stringify(reading)],
      issuer: "",
      canonicalUserId: canonicalId,
      accessKeyId: "QKIAALICE",
    });
  });

  test("give a declared user's filed key the policies of both, in one list for all calls", async () => {
    const writing = allowing("s3:PutObject");
    const filed = filing({ accessKeyId: "QKIAALICE", user: "alice", policies: [writing] });
    const { keys } = await joined(declaring(), filed);
    const first = keys.find("QKIAALICE");
    expect(first?.policies).toEqual([JSON.stringify(reading), JSON.stringify(writing)]);
    expect(keys.find("QKIAALICE")?.policies).toBe(first?.policies);
  });

  test("find by their digest the policies of both where they are too large for a token", async () => {
    const large = allowing("s3:GetObject", `arn:aws:s3:::photos/${"x".repeat(5_000)}`);
    const account = {
      users: [
        { name: "alice", policies: [large] },
        { name: "bob", policies: [large] },
      ],
    };
    const filed = filing(
      { accessKeyId: "QKIAALICE", user: "alice", policies: [large] },
      { accessKeyId: "QKIABOB", user: "bob", policies: [reading] },
    );
    const { keys } = await joined({ accounts: { [shop]: account } }, filed);
    const both = [JSON.stringify(large), JSON.stringify(large)];
    expect(keys.findPolicies(policiesDigest(both))).toEqual(both);
    expect(keys.findPolicies(policiesDigest([JSON.stringify(large), JSON.stringify(reading)]))).toBeUndefined();
    expect(callerOf(keys.find("QKIAALICE")!).policies).toBe(keys.findPolicies(policiesDigest(both)));
  });

  test("do not start when both have an id", async () => {
    await expect(joined(declaring("QKIABOTH"), filing({ accessKeyId: "QKIABOTH" }))).rejects.toThrow(
      "access key QKIABOTH is in the credentials file and in accounts",
    );
  });

  test("refuse an id that both have later, until one of them gives it up", async () => {
    const { keys, clock, write, lines } = await joined(declaring(), filing({ accessKeyId: "QKIABOTH" }));
    await write("quartet.json", declaring("QKIABOTH"));
    clock.advance(1_000);
    expect(keys.find("QKIABOTH")).toBeUndefined();
    expect(lines).toEqual(["info: accounts were read again", "QKIABOTH"]);
    await write("credentials.json", filing());
    clock.advance(1_000);
    expect(keys.find("QKIABOTH")?.secretAccessKey).toBe("a declared secret");
  });
});
