import { rm } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ConfigError } from "../../../services/kit/config/config.ts";
import { policiesDigest } from "../../../services/kit/identity/identity-policies.ts";
import { allowing, declaredInstallation } from "./installations.ts";

const shop = "111122223333";
const bank = "444455556666";
const canonicalId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const trust = { Statement: { Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" } };
const declaration = {
  $schema: "./quartet.schema.json",
  dataDir: "./data",
  accounts: {
    [shop]: {
      name: "Shop",
      email: "shop@example.com",
      canonicalId,
      accessKeys: [{ id: "QKIASHOP", secret: "the shop's secret" }],
      users: [
        {
          name: "team/alice",
          policies: [allowing("s3:GetObject"), "policies/alice.json"],
          accessKeys: [{ id: "QKIAALICE", secret: { environment: "ALICE_SECRET" } }],
        },
        { name: "bob", accessKeys: [{ id: "QKIABOB", secret: { file: "secrets/bob" } }] },
      ],
    },
    [bank]: {},
  },
  roles: [{ account: bank, name: "teller", trustPolicy: trust, policies: ["policies/alice.json"] }],
  organizations: { "o-exampleorg00": { accounts: [shop, "777788889999"] } },
};
const alicesFile = '{ "Statement": { "Effect": "Allow", "Action": "events:*", "Resource": "*" } }';
const files = { "quartet.json": declaration, "policies/alice.json": alicesFile, "secrets/bob": "bob's secret\n" };
const environment = { ALICE_SECRET: "alice's secret" };
const alicesPolicies = [
  '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}',
  alicesFile,
];

describe("the accounts of a configuration file", () => {
  test("are those it declares, with the policies of the files that it names", async () => {
    const accounts = (await declaredInstallation(files)).open();
    expect(accounts.list()).toEqual([
      { id: shop, name: "Shop", email: "shop@example.com", canonicalUserId: canonicalId },
      {
        id: bank,
        name: undefined,
        email: undefined,
        canonicalUserId: "d3153d0256fa0b37bb017b5f6bd2cd7dda747afa0c348fbbb61896d98387ee6d",
      },
    ]);
    expect(accounts.findUser(shop, "team/alice")).toEqual({
      accountId: shop,
      name: "team/alice",
      policies: alicesPolicies,
    });
    expect(accounts.findUser(bank, "team/alice")).toBeUndefined();
    const role = accounts.findRole("arn:svc:iam::444455556666:role/teller");
    expect([role?.arn, role?.accountId, role?.policies]).toEqual([
      "arn:aws:iam::444455556666:role/teller",
      bank,
      [alicesFile],
    ]);
    expect(accounts.findRoleByName(bank, "Teller")).toBe(role);
    expect([shop, bank, "777788889999"].map(accounts.findOrganizationId)).toEqual([
      "o-exampleorg00",
      undefined,
      "o-exampleorg00",
    ]);
  });

  test("have roles with paths, each found by its ARN and by its name alone", async () => {
    const installation = await declaredInstallation({
      "quartet.json": JSON.stringify(role({ name: "team/a/Reader" })),
    });
    const accounts = installation.open();
    const found = accounts.findRole(`arn:aws:iam::${shop}:role/team/a/Reader`);
    expect([found?.name, found?.arn]).toEqual(["Reader", `arn:aws:iam::${shop}:role/team/a/Reader`]);
    expect(accounts.findRoleByName(shop, "reader")).toBe(found);
    expect(accounts.findRole(`arn:aws:iam::${shop}:role/Reader`)).toBeUndefined();
  });

  test("have canonical ids whether they are declared or not", async () => {
    const accounts = (await declaredInstallation(files)).open();
    expect([shop, "000000000000"].map(accounts.canonicalUserId)).toEqual([
      canonicalId,
      "aa6b8b079bf190d213cee811816bed87e0cf04ff47effdf2cc631ae2f4be2edf",
    ]);
  });

  test("are empty without a file", async () => {
    expect((await declaredInstallation({})).open().list()).toEqual([]);
  });
});

describe("declared access keys", () => {
  test("belong to the account or a user, with secrets from the file, the environment and other files", async () => {
    const accounts = (await declaredInstallation(files)).open(environment);
    expect(accounts.accessKeyIds().map(accounts.findAccessKey)).toEqual([
      {
        accessKeyId: "QKIASHOP",
        secretAccessKey: "the shop's secret",
        accountId: shop,
        policies: [],
        canonicalUserId: canonicalId,
      },
      {
        accessKeyId: "QKIAALICE",
        secretAccessKey: "alice's secret",
        accountId: shop,
        user: "team/alice",
        policies: alicesPolicies,
        canonicalUserId: canonicalId,
      },
      {
        accessKeyId: "QKIABOB",
        secretAccessKey: "bob's secret",
        accountId: shop,
        user: "bob",
        policies: [],
        canonicalUserId: canonicalId,
      },
    ]);
  });

  test("are unknown to a process that needs no secrets, which then need not be there", async () => {
    const installation = await declaredInstallation(files);
    await rm(join(installation.directory, "secrets/bob"));
    expect(installation.open().accessKeyIds()).toEqual([]);
  });

  // files, environment, message
  test.each([
    [{}, {}, `accounts["111122223333"].users[0].accessKeys[0].secret: the environment has no ALICE_SECRET`],
    [
      {},
      { ALICE_SECRET: "short" },
      `accounts["111122223333"].users[0].accessKeys[0].secret: the secret must have at least 8 characters`,
    ],
    [
      { "secrets/bob": "short\n" },
      environment,
      `accounts["111122223333"].users[1].accessKeys[0].secret: the secret must have at least 8 characters`,
    ],
  ])("refuse to start with the files %j and the environment %j", async (changed, given, message) => {
    const installation = await declaredInstallation({ ...files, ...changed });
    expect(() => installation.open(given as Record<string, string>)).toThrow(
      new ConfigError(`quartet.json: ${message}`),
    );
  });
});

const account = (members: object) => ({ accounts: { [shop]: members } });
const user = (members: object) => account({ users: [{ name: "alice", ...members }] });
const provider = (members: object) => ({
  identityProviders: [{ account: shop, issuer: "https://login.example.com", audiences: ["quartet"], ...members }],
});
const role = (members: object) => ({ roles: [{ account: shop, name: "r", trustPolicy: trust, ...members }] });

describe("a configuration file is refused", () => {
  // content, message
  test.each<[object, string]>([
    [
      user({ colour: "red" }),
      'accounts["111122223333"].users[0].colour is not known; known are name, policies, accessKeys, tags',
    ],
    [{ accounts: { "1": {} } }, 'accounts["1"] must be named with 12 digits'],
    [account({ canonicalId: "ABC" }), `accounts["${shop}"].canonicalId must have 64 hexadecimal digits in lower case`],
    [account({ email: "shop" }), `accounts["${shop}"].email must have the form "name@host"`],
    [account({ users: [{}] }), `accounts["${shop}"].users[0].name is missing`],
    [user({ name: "a b" }), `accounts["${shop}"].users[0].name must have 1 to 128 letters, digits or "+=,.@_/-"`],
    [
      account({ accessKeys: [{ id: "K", secret: "hush" }] }),
      `accounts["${shop}"].accessKeys[0].secret must have at least 8 characters`,
    ],
    [
      account({ accessKeys: [{ id: "K", secret: { environment: "QUARTET_X" } }] }),
      `accounts["${shop}"].accessKeys[0].secret.environment must have letters, digits or underscores, and no QUARTET_ in front`,
    ],
    [
      user({ policies: [{ Statement: { Effect: "Maybe" } }] }),
      `accounts["${shop}"].users[0].policies[0]: Statement[0].Effect must be Allow or Deny`,
    ],
    [
      user({ policies: [{ Statement: { Effect: "Allow", Action: "*" } }] }),
      `accounts["${shop}"].users[0].policies[0]: Statement[0] needs Resource or NotResource`,
    ],
    [user({ policies: ["none.json"] }), `accounts["${shop}"].users[0].policies[0]: there is no file none.json`],
    [
      user({ policies: ["broken.json"] }),
      `accounts["${shop}"].users[0].policies[0] (broken.json): the policy is not valid JSON`,
    ],
    [user({ policies: ["."] }), `accounts["${shop}"].users[0].policies[0]: . is a directory`],
    [provider({ keys: "none.json" }), "identityProviders[0].keys: there is no file none.json"],
    [provider({ keys: "." }), "identityProviders[0].keys: . is a directory"],
    [provider({ keys: "broken.json" }), "identityProviders[0].keys (broken.json): it is not JSON"],
    [provider({ keys: "null.json" }), "identityProviders[0].keys (null.json): keys must be a list"],
    [provider({ keys: "object.json" }), "identityProviders[0].keys (object.json): keys must be a list"],
    [role({ trustPolicy: allowing("*") }), "roles[0].trustPolicy: Statement[0] needs Principal or NotPrincipal"],
    [
      role({ trustPolicy: { Statement: { ...trust.Statement, Resource: "*" } } }),
      "roles[0].trustPolicy: Statement[0] must not name a resource",
    ],
    [role({ name: "path/" }), 'roles[0].name must have 1 to 64 letters, digits or "+=,.@_-" after its path'],
    [
      { organizations: { mine: { accounts: [] } } },
      "organizations.mine must be named with o- and 10 to 32 letters or digits",
    ],
    [account({ users: [{ name: "alice" }, { name: "alice" }] }), "user alice of 111122223333 is declared twice"],
    [{ roles: [...role({}).roles, ...role({ name: "path/R" }).roles] }, "role r of 111122223333 is declared twice"],
    [
      account({
        accessKeys: [
          { id: "K", secret: "the first secret" },
          { id: "K", secret: "the second secret" },
        ],
      }),
      "access key K is declared twice",
    ],
    [{ accounts: { [shop]: { email: "a@b" }, [bank]: { email: "A@B" } } }, "e-mail a@b is declared twice"],
    [
      { accounts: { [shop]: { canonicalId }, [bank]: { canonicalId } } },
      `canonical id ${canonicalId} is declared twice`,
    ],
    [
      { organizations: { "o-exampleorg00": { accounts: [shop] }, "o-exampleorg01": { accounts: [shop] } } },
      "account 111122223333 in organizations is declared twice",
    ],
  ])("with %j", async (content, message) => {
    const installation = await declaredInstallation({
      "quartet.json": content,
      "broken.json": "{",
      "null.json": "null",
      "object.json": '{"keys": {}}',
    });
    expect(() => installation.open()).toThrow(new ConfigError(`quartet.json: ${message}`));
  });
});

const largePolicy = (bucket: string) => allowing("s3:GetObject", `arn:aws:s3:::${bucket.repeat(9_000)}`);
const withAlice = (...policies: object[]) => user({ policies });

describe("a change of a configuration file", () => {
  test("takes effect within a second, also of a file that it names", async () => {
    const { clock, write, open, lines } = await declaredInstallation(files);
    const accounts = open(environment);
    await write("policies/alice.json", allowing("x:Other"));
    await write("secrets/bob", "bob's new secret");
    clock.advance(1_000);
    expect(accounts.findUser(shop, "team/alice")?.policies[1]).toBe(JSON.stringify(allowing("x:Other")));
    expect(accounts.findAccessKey("QKIABOB")?.secretAccessKey).toBe("bob's new secret");
    await write("quartet.json", { accounts: { [bank]: {} } });
    clock.advance(1_000);
    expect(accounts.list().map(({ id }) => id)).toEqual([bank]);
    expect(accounts.findAccessKey("QKIABOB")).toBeUndefined();
    expect(lines).toEqual(["info: accounts were read again", "info: accounts were read again"]);
  });

  test("leaves the last good declarations when it cannot be used, and says why", async () => {
    const { clock, write, open, lines } = await declaredInstallation(files);
    const accounts = open(environment);
    await write("quartet.json", { ...declaration, colour: "red" });
    clock.advance(1_000);
    expect(accounts.findAccessKey("QKIASHOP")?.secretAccessKey).toBe("the shop's secret");
    await write("quartet.json", '{"accounts": {');
    clock.advance(1_000);
    expect(accounts.list()).toHaveLength(2);
    await write("quartet.json", user({ policies: ["gone.json"] }));
    clock.advance(1_000);
    expect(accounts.list()).toHaveLength(2);
    expect(lines).toEqual([
      "error: quartet.json: colour is not known; known are $schema, dataDir, accounts, roles, identityProviders, organizations",
      expect.stringMatching(/^error: quartet\.json: it is not JSON/),
      'error: quartet.json: accounts["111122223333"].users[0].policies[0]: there is no file gone.json',
    ]);
  });

  test("finds large policies at once, and replaced ones until the last token that names them has expired", async () => {
    const { clock, write, open } = await declaredInstallation({ "quartet.json": withAlice(largePolicy("a")) });
    const accounts = open();
    const [first, second] = [largePolicy("a"), largePolicy("b")].map((policy) =>
      policiesDigest([JSON.stringify(policy)]),
    );
    await write("quartet.json", withAlice(largePolicy("b")));
    expect(accounts.findPolicies(second ?? "")).toEqual([JSON.stringify(largePolicy("b"))]);
    clock.advance(299_999);
    expect(accounts.findPolicies(first ?? "")).toEqual([JSON.stringify(largePolicy("a"))]);
    clock.advance(1);
    expect(accounts.findPolicies(first ?? "")).toBeUndefined();
    expect(accounts.findPolicies(second ?? "")).toEqual([JSON.stringify(largePolicy("b"))]);
  });

  test("finds no policies by a digest that nobody declared", async () => {
    const { open } = await declaredInstallation({ "quartet.json": withAlice(allowing("*")) });
    expect(open().findPolicies(policiesDigest([JSON.stringify(allowing("*"))]))).toBeUndefined();
  });
});

describe("the MFA devices of an account", () => {
  const withDevices = (...mfaDevices: object[]) => ({
    ...files,
    "quartet.json": { accounts: { [shop]: { mfaDevices } } },
    "secrets/phone": "gezdgnbvgy3tqojq\n",
    "secrets/short": "GEZDGNBVGY3TQOJ=\n",
    "secrets/digits": "GEZDGNBVGY3TQOJQ10\n",
    "secrets/padded": "====GEZDGNBVGY3TQOJQ\n",
    "secrets/empty": "====\n",
  });
  const safe = { serial: "mfa/safe-device", secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" };

  test("are found by their serial numbers, with secrets from the file and other files", async () => {
    const phone = { serial: "mfa/phone-device", secret: { file: "secrets/phone" } };
    const accounts = (await declaredInstallation(withDevices(safe, phone))).open();
    const secretOf = (owner: string, serial: string) => {
      const found = accounts.findMfaDevice(owner, serial);
      return found && Buffer.from(found.secret).toString();
    };
    expect(secretOf(shop, "mfa/safe-device")).toBe("12345678901234567890");
    expect(secretOf(shop, "mfa/phone-device")).toBe("1234567890");
    expect(secretOf(bank, "mfa/safe-device")).toBeUndefined();
  });

  const secret = 'quartet.json: accounts["111122223333"].mfaDevices[0].secret';

  test.each([
    [[safe, safe], "quartet.json: MFA device mfa/safe-device is declared twice"],
    [[{ ...safe, secret: "GEZDGNBVGY3TQOJ1" }], secret],
  ])("%o are refused", async (devices, reason) => {
    const installation = await declaredInstallation(withDevices(...devices));
    expect(() => installation.open()).toThrow(reason);
  });

  test.each(["bob", "short", "digits", "padded", "empty"])(
    "with the secret in the file %s are refused",
    async (name) => {
      const device = { ...safe, secret: { file: `secrets/${name}` } };
      const installation = await declaredInstallation(withDevices(device));
      expect(() => installation.open()).toThrow(`${secret}: the secret must be at least 16 characters of base32`);
    },
  );
});
