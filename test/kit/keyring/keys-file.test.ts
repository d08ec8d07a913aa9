import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { text } from "../../../services/kit/config/config.ts";
import { keySections } from "../../../services/kit/keyring/declaration.ts";
import { openKeyNames } from "../../../services/kit/keyring/keys-file.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** A quartet.json, what was logged about it, and the keys that it declares. */
const installationWith = async (content: object | undefined) => {
  const path = join(await temporaryDirectory(), "quartet.json");
  const clock = new FakeClock();
  const lines: string[] = [];
  const write = (next: object) => writeFile(path, JSON.stringify(next));
  if (content !== undefined) await write(content);
  const note = (facts: { reason?: string }, message: string) => lines.push(facts.reason ?? message);
  const open = () =>
    openKeyNames({
      installation: { shared: { dataDir: text("./data", "Data.") }, processes: {}, sections: keySections },
      file: { path, isNamed: false },
      clock,
      log: { info: note, error: note } as never,
    });
  return { path, clock, lines, write, open };
};

describe("the keys of a configuration file", () => {
  test("are those it declares, enabled unless it says otherwise", async () => {
    const { open } = await installationWith({
      keys: [
        { id: "one", aliases: ["alias/crm"] },
        { id: "two", state: "DISABLED" },
      ],
    });
    expect(open().usableId("alias/crm")).toBe("one");
    expect(() => open().usableId("two")).toThrow("Key two is disabled.");
    expect(() => open().usableId("three")).toThrow("Key three does not exist.");
  });

  test("are none but the installation's own when the list is empty, and all when there is no list or no file", async () => {
    const empty = (await installationWith({ keys: [] })).open();
    expect(empty.usableId("")).toBe("");
    expect(() => empty.usableId("one")).toThrow("Key one does not exist.");
    expect((await installationWith({})).open().usableId("one")).toBe("one");
    expect((await installationWith(undefined)).open().usableId("one")).toBe("one");
  });

  test("change with the file within a second", async () => {
    const { path, clock, write, open, lines } = await installationWith({ keys: [{ id: "one" }] });
    const names = open();
    await write({ keys: [{ id: "one", state: "PENDING_DELETION" }] });
    expect(names.usableId("one")).toBe("one");
    clock.advance(1_000);
    expect(() => names.usableId("one")).toThrow("Key one is pending deletion.");
    await rm(path);
    clock.advance(1_000);
    expect(names.usableId("one")).toBe("one");
    expect(lines).toEqual(["keys were read again", "keys were read again"]);
  });

  test("stay when the changed file cannot be used, which is logged", async () => {
    const { clock, write, open, lines } = await installationWith({ keys: [{ id: "one", state: "DISABLED" }] });
    const names = open();
    await write({ keys: [{ id: "one", state: "BROKEN" }] });
    clock.advance(1_000);
    expect(() => names.usableId("one")).toThrow("Key one is disabled.");
    expect(lines).toEqual(["quartet.json: keys[0].state must be one of ENABLED, DISABLED, PENDING_DELETION"]);
  });

  // keys, complaint
  test.for([
    [{}, "keys must be a list"],
    [[{ aliases: [] }], "keys[0].id is missing"],
    [[{ id: "a b" }], "keys[0].id must have 1 to 128 letters, digits or hyphens, or be the ARN of such a key"],
    [
      [{ id: "arn:aws:s3:us-east-1:000000000000:key/a" }],
      "keys[0].id must have 1 to 128 letters, digits or hyphens, or be the ARN of such a key",
    ],
    [
      [{ id: "a", aliases: ["crm"] }],
      'keys[0].aliases[0] must have the form "alias/" and 1 to 250 letters, digits, "/", "_" or "-"',
    ],
    [[{ id: "a", state: "enabled" }], "keys[0].state must be one of ENABLED, DISABLED, PENDING_DELETION"],
    [[{ id: "a", policy: {} }], "keys[0].policy is not known; known are id, aliases, state"],
    [[{ id: "a" }, { id: "arn:aws:kms:us-east-1:000000000000:key/a" }], "keys[1].id is declared twice"],
    [
      [
        { id: "a", aliases: ["alias/x"] },
        { id: "b", aliases: ["alias/y", "alias/x"] },
      ],
      "keys[1].aliases[1] is declared twice",
    ],
  ] as const)("are refused at the start: %j", async ([keys, complaint]) => {
    const { open } = await installationWith({ keys });
    expect(open).toThrow(`quartet.json: ${complaint}`);
  });
});
