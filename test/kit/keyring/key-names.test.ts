import { describe, expect, test } from "vitest";

import type { KeyNames } from "../../../services/kit/keyring/key-names.ts";
import { anyKeyNames, declaredKeyNames, NamedKeyError } from "../../../services/kit/keyring/key-names.ts";
import { createKeyring } from "../../../services/kit/keyring/keyring.ts";
import { fixedMasterKeys } from "../../../services/kit/keyring/master-keys.ts";

const id = "1234abcd-12ab-34cd-56ef-1234567890ab";

const declared = declaredKeyNames([
  { id, aliases: ["alias/crm", "alias/team/crm"], state: "ENABLED" },
  { id: "arn:aws:kms:eu-west-1:111122223333:key/west", aliases: ["alias/west"], state: "ENABLED" },
  { id: "off", aliases: ["alias/off"], state: "DISABLED" },
  { id: "going", aliases: ["alias/going"], state: "PENDING_DELETION" },
]);

/** The id that a name means, or the problem with it. */
const meaningOf = (names: KeyNames, name: string): string => {
  try {
    return names.usableId(name);
  } catch (error) {
    return error instanceof NamedKeyError ? `${error.problem} ${error.message}` : "another failure";
  }
};

describe("declared keys", () => {
  // name, what it means
  test.for([
    [id, id],
    ["alias/crm", id],
    ["alias/team/crm", id],
    [`arn:aws:kms:us-east-1:000000000000:key/${id}`, id],
    [`arn:svc:kms:us-east-1:000000000000:key/${id}`, id],
    ["arn:aws:kms:us-east-1:000000000000:alias/crm", id],
    ["arn:svc:kms:us-east-1:000000000000:alias/team/crm", id],
    ["west", "west"],
    ["arn:aws:kms:eu-west-1:111122223333:key/west", "west"],
    ["arn:svc:kms:eu-west-1:111122223333:alias/west", "west"],
    ["", ""],
    [
      "arn:aws:kms:us-east-1:111122223333:key/west",
      "NOT_FOUND Key arn:aws:kms:us-east-1:111122223333:key/west does not exist.",
    ],
    [
      "arn:aws:kms:eu-west-1:444455556666:alias/west",
      "NOT_FOUND Key arn:aws:kms:eu-west-1:444455556666:alias/west does not exist.",
    ],
    ["crm", "NOT_FOUND Key crm does not exist."],
    ["alias/CRM", "NOT_FOUND Key alias/CRM does not exist."],
    ["toString", "NOT_FOUND Key toString does not exist."],
    [
      `arn:aws:s3:us-east-1:000000000000:key/${id}`,
      `NOT_FOUND Key arn:aws:s3:us-east-1:000000000000:key/${id} does not exist.`,
    ],
    ["off", "DISABLED Key off is disabled."],
    [
      "arn:svc:kms:us-east-1:000000000000:alias/off",
      "DISABLED Key arn:svc:kms:us-east-1:000000000000:alias/off is disabled.",
    ],
    ["going", "PENDING_DELETION Key going is pending deletion."],
    ["alias/going", "PENDING_DELETION Key alias/going is pending deletion."],
  ] as const)("%s means %s", ([name, meaning]) => {
    expect(meaningOf(declared, name)).toBe(meaning);
  });
});

describe("where no keys are declared, a name is a key of its own", () => {
  // name, id
  test.for([
    ["alias/crm", "alias/crm"],
    ["arn:aws:kms:us-east-1:000000000000:alias/crm", "alias/crm"],
    ["arn:svc:kms:eu-west-1:111122223333:key/abc", "abc"],
    ["abc", "abc"],
    ["anything at all", "anything at all"],
    ["", ""],
  ] as const)("%j is %j", ([name, meaning]) => {
    expect(meaningOf(anyKeyNames, name)).toBe(meaning);
  });

  test("of which a data key can be made, so the longest names are those of no key", () => {
    const keyring = createKeyring(fixedMasterKeys([Buffer.alloc(32, 1)]), anyKeyNames);
    const longest = "k".repeat(1_003);
    expect(keyring.createDataKey(longest, []).wrapped.length).toBeGreaterThan(1_003);
    expect(() => keyring.createDataKey(`${longest}k`, [])).toThrow(NamedKeyError);
  });
});
