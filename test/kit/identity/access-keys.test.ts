import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { openAccessKeyFile } from "../../../services/kit/identity/access-key-file.ts";
import { callerOf, parseAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const started = async () => {
  const path = join(await temporaryDirectory(), "gateway", "credentials.json");
  const clock = new FakeClock();
  const open = (environment: Record<string, string> = {}) =>
    openAccessKeyFile({ path, clock, ids: randomIds, environment });
  return { path, clock, open };
};

const fileOf = (...keys: object[]): string => JSON.stringify({ version: 1, accessKeys: keys });
const bob = {
  accessKeyId: "QKIABOB",
  secretAccessKey: "bob's long secret",
  accountId: "111122223333",
  user: "bob",
  policies: [{ Version: "2012-10-17", Statement: { Effect: "Allow", Action: "*", Resource: "*" } }],
};
const bobsPolicy = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}';
const spacedPolicy = '{ "Statement": [{ "Effect": "Deny", "Action": "*", "Resource": "*" }] }';
const largePolicy = { Statement: { Effect: "Allow", Action: "*", Resource: `arn:aws:s3:::${"b".repeat(8_192)}` } };

describe("the first start", () => {
  test("makes a root key for account 000000000000 and says so once", async () => {
    const { path, open } = await started();
    const first = await open();
    expect(first.created).toMatchObject({ accountId: "000000000000", policies: [] });
    expect(first.created?.accessKeyId).toMatch(/^QKIA[A-Z2-7]{16}$/);
    expect(first.created?.secretAccessKey).toMatch(/^[0-9A-Za-z]{40}$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const second = await open();
    expect(second.created).toBeUndefined();
    expect(second.find(second.firstAccessKeyId ?? "")).toEqual(first.created);
  });

  test("writes a file that people can read", async () => {
    const path = join(await temporaryDirectory(), "credentials.json");
    await openAccessKeyFile({ path, clock: new FakeClock(), ids: fixedIds() });
    expect(await readFile(path, "utf8")).toBe(`{
  "version": 1,
  "accessKeys": [
    {
      "accessKeyId": "QKIA0000000000000001",
      "secretAccessKey": "0000000000000000000000000000000000000002",
      "accountId": "000000000000",
      "policies": []
    }
  ]
}
`);
  });

  test("makes one file when two processes start at once", async () => {
    const { open } = await started();
    const files = await Promise.all([open(), open(), open()]);
    expect(files.filter((file) => file.created !== undefined)).toHaveLength(1);
    expect(new Set(files.map((file) => file.firstAccessKeyId)).size).toBe(1);
  });

  test("makes no file when the environment gives the key", async () => {
    const { path, open } = await started();
    const file = await open({ QUARTET_ACCESS_KEY_ID: "mine", QUARTET_SECRET_ACCESS_KEY: "my own secret" });
    expect(file.created).toBeUndefined();
    expect(file.firstAccessKeyId).toBe("mine");
    expect(file.find("mine")).toEqual({
      accessKeyId: "mine",
      secretAccessKey: "my own secret",
      accountId: "000000000000",
      policies: [],
    });
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  test("wants both halves of the environment's key", async () => {
    const { open } = await started();
    await expect(open({ QUARTET_ACCESS_KEY_ID: "mine" })).rejects.toThrow("must be given together");
  });
});

describe("a change of the file", () => {
  test("takes effect within a second", async () => {
    const { path, clock, open } = await started();
    const file = await open();
    const root = file.created?.accessKeyId ?? "";
    await writeFile(path, fileOf(bob));
    expect(file.find("QKIABOB")).toBeUndefined();
    clock.advance(1_000);
    expect(file.find("QKIABOB")).toMatchObject({ user: "bob" });
    expect(file.find(root)).toBeUndefined();
  });

  test("leaves the last good keys when it cannot be read", async () => {
    const { path, clock, open } = await started();
    const file = await open();
    await writeFile(path, "{");
    clock.advance(1_000);
    expect(file.find(file.created?.accessKeyId ?? "")).toEqual(file.created);
  });

  test("takes all keys away when the file goes", async () => {
    const { path, clock, open } = await started();
    const file = await open();
    await rm(path);
    clock.advance(1_000);
    expect(file.find(file.created?.accessKeyId ?? "")).toBeUndefined();
  });
});

describe("a credentials file", () => {
  test("holds users with policies as documents or texts", () => {
    expect(parseAccessKeys(fileOf(bob, { ...bob, accessKeyId: "QKIABOB2", policies: [spacedPolicy] }))).toEqual([
      { ...bob, policies: [bobsPolicy] },
      { ...bob, accessKeyId: "QKIABOB2", policies: [spacedPolicy] },
    ]);
  });

  // file, complaint
  test.for([
    ["{", "it is not JSON"],
    ["[]", "version must be 1"],
    ['{"version": 2, "accessKeys": []}', "version must be 1"],
    ['{"version": 1, "accessKeys": [], "more": 1}', "the file has unknown members: more"],
    ['{"version": 1}', "accessKeys must be a list"],
    [fileOf([]), "accessKeys[0] must be an object"],
    [fileOf({ ...bob, role: "admin" }), "accessKeys[0] has unknown members: role"],
    [
      fileOf({ ...bob, accessKeyId: "a/b" }),
      'accessKeys[0].accessKeyId must have 1 to 128 letters, digits, "_", "." or "-"',
    ],
    [fileOf({ ...bob, secretAccessKey: "short" }), "accessKeys[0].secretAccessKey must have at least 8 characters"],
    [fileOf({ ...bob, accountId: "12" }), "accessKeys[0].accountId must have 12 digits"],
    [fileOf({ ...bob, user: "" }), 'accessKeys[0].user must have 1 to 128 letters, digits or "+=,.@_/-"'],
    [fileOf({ ...bob, policies: "all" }), "accessKeys[0].policies must be a list"],
    [fileOf({ ...bob, policies: [...bob.policies, {}] }), "accessKeys[0].policies[1]: Statement must not be empty"],
    [
      fileOf({ ...bob, policies: [{ Statement: { Effect: "Allow", Action: "*" } }] }),
      "accessKeys[0].policies[0]: Statement[0] needs Resource or NotResource",
    ],
    [
      fileOf({ ...bob, policies: [largePolicy] }),
      "accessKeys[0].policies have more than 8 KiB together; declare the user in quartet.json",
    ],
    [fileOf(bob, bob), "an accessKeyId occurs twice"],
  ] as const)("is refused: %s", ([text, complaint]) => {
    expect(() => parseAccessKeys(text)).toThrow(complaint);
  });

  test("that cannot be used at the start is an error naming it", async () => {
    const { path, open } = await started();
    await open();
    await writeFile(path, '{"secretAccessKey": "open sesame"');
    await expect(open()).rejects.toThrow(`${path} cannot be used: it is not JSON`);
  });
});

describe("the caller of a key", () => {
  test("is the account when it names no user", () => {
    expect(callerOf({ accessKeyId: "QKIAROOT", secretAccessKey: "", accountId: "000000000000", policies: [] })).toEqual(
      {
        accountId: "000000000000",
        principalArn: "arn:aws:iam::000000000000:root",
        isRoot: true,
        isAnonymous: false,
        policies: [],
        issuer: "",
        accessKeyId: "QKIAROOT",
      },
    );
  });

  test("is the user with the policies", () => {
    expect(callerOf({ ...bob, policies: ["{}"] })).toEqual({
      accountId: "111122223333",
      principalArn: "arn:aws:iam::111122223333:user/bob",
      isRoot: false,
      isAnonymous: false,
      policies: ["{}"],
      issuer: "",
      accessKeyId: "QKIABOB",
    });
  });
});
