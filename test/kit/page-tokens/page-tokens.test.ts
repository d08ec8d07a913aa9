import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { pageTokenKey, pageTokenKeyTable } from "../../../services/kit/page-tokens/page-token-key.ts";
import { createPageTokens } from "../../../services/kit/page-tokens/page-tokens.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const key = new Uint8Array(32).fill(7);
const hour = 3_600_000;
const binding = { caller: "111122223333", operation: "ListRules", filters: ["default", "prefix-"] };

const start = () => {
  const clock = new FakeClock();
  return { clock, tokens: createPageTokens({ key, clock, lifetimeMs: hour }) };
};

const textOf = (position: Uint8Array | undefined): string | undefined =>
  position === undefined ? undefined : Buffer.from(position).toString("utf8");

describe("a page token", () => {
  it.each(["", "rule-1", "Zürich \u0000 \u{1f600}", "x".repeat(3000)])("gives back its position: %j", (position) => {
    const { tokens } = start();
    expect(textOf(tokens.open(binding, tokens.seal(binding, position)))).toBe(position);
  });

  it("takes bytes as a position", () => {
    const { tokens } = start();
    expect(tokens.open(binding, tokens.seal(binding, new Uint8Array([0, 1, 255])))).toEqual(
      new Uint8Array([0, 1, 255]),
    );
  });

  it("is standard base64 of 64 characters for an empty position, and shows nothing of it", () => {
    const { tokens } = start();
    const token = tokens.seal(binding, "");
    expect(token).toHaveLength(64);
    expect(token).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect(Buffer.from(tokens.seal(binding, "secret-name"), "base64").includes("secret-name")).toBe(false);
  });

  it("is another one each time", () => {
    const { tokens } = start();
    expect(new Set(Array.from({ length: 100 }, () => tokens.seal(binding, "rule-1"))).size).toBe(100);
  });

  it("is good until its life ends", () => {
    const { clock, tokens } = start();
    const token = tokens.seal(binding, "rule-1");
    clock.advance(hour - 1);
    expect(textOf(tokens.open(binding, token))).toBe("rule-1");
    clock.advance(1);
    expect(tokens.open(binding, token)).toBeUndefined();
  });

  describe("refuses", () => {
    it.each([
      // what differs, binding
      ["another caller", { ...binding, caller: "444455556666" }],
      ["another operation", { ...binding, operation: "ListTargets" }],
      ["another filter", { ...binding, filters: ["default", "prefix"] }],
      ["a filter less", { ...binding, filters: ["default"] }],
      ["a filter more", { ...binding, filters: ["default", "prefix-", ""] }],
      ["filters that join to the same text", { ...binding, filters: ["defaultprefix-", ""] }],
      ["filters in another order", { ...binding, filters: ["prefix-", "default"] }],
    ])("%s", (_what, other) => {
      const { tokens } = start();
      const token = tokens.seal(binding, "rule-1");
      expect(textOf(tokens.open(binding, token))).toBe("rule-1");
      expect(tokens.open(other, token)).toBeUndefined();
    });

    it("any one bit changed", () => {
      const { tokens } = start();
      const token = Buffer.from(tokens.seal(binding, "rule-1"), "base64");
      const opened = Array.from({ length: token.byteLength * 8 }, (_, bit) => {
        const damaged = Buffer.from(token);
        damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
        return tokens.open(binding, damaged.toString("base64"));
      });
      expect(opened.filter((position) => position !== undefined)).toEqual([]);
    });

    it("anything cut off or added", () => {
      const { tokens } = start();
      const token = Buffer.from(tokens.seal(binding, "rule-1"), "base64");
      const opened = Array.from({ length: token.byteLength }, (_, length) =>
        tokens.open(binding, token.subarray(0, length).toString("base64")),
      );
      opened.push(tokens.open(binding, Buffer.concat([token, Buffer.of(0)]).toString("base64")));
      expect(opened.filter((position) => position !== undefined)).toEqual([]);
    });

    it.each([
      ["nothing", () => ""],
      ["no base64", () => "not a token!"],
      ["a space inside", (token: string) => `${token.slice(0, 8)} ${token.slice(8)}`],
      ["a line end behind", (token: string) => `${token}\n`],
      [
        "the alphabet for addresses",
        (token: string) => token.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""),
      ],
      ["a very long text", () => "A".repeat(20_000)],
    ] as [string, (token: string) => string][])("another spelling: %s", (_what, spell) => {
      const { tokens } = start();
      // 50 bytes of token end in base64's padding, so that the row about its alphabet always changes something.
      expect(tokens.open(binding, spell(tokens.seal(binding, "abc")))).toBeUndefined();
    });

    it("a token of another key", () => {
      const { clock, tokens } = start();
      const others = createPageTokens({ key: new Uint8Array(32).fill(8), clock, lifetimeMs: hour });
      expect(tokens.open(binding, others.seal(binding, "rule-1"))).toBeUndefined();
    });
  });

  it("needs a key of 32 bytes", () => {
    const clock = new FakeClock();
    expect(() => createPageTokens({ key: new Uint8Array(16), clock, lifetimeMs: hour })).toThrow(
      "a page token key is 32 bytes, not 16",
    );
  });
});

describe("the key of page tokens", () => {
  it("is made once and stays across restarts", async () => {
    const directory = await temporaryDirectory();
    const table = pageTokenKeyTable(1);
    const first = await openStore({ directory });
    const [made, again] = await Promise.all([pageTokenKey(first, table), pageTokenKey(first, table)]);
    await first.close();
    const second = await openStore({ directory });
    const kept = await pageTokenKey(second, table);
    await second.close();
    expect(made.byteLength).toBe(32);
    expect(again).toEqual(made);
    expect(kept).toEqual(made);
  });

  it("is replaced where it is damaged, which is logged", async () => {
    const directory = await temporaryDirectory();
    const table = pageTokenKeyTable(1);
    const open = () => openStore({ directory: join(directory, "leveldb") });
    const first = await open();
    const lost = await pageTokenKey(first, table);
    await first.close();
    await damageStoredRecord(directory, table, ["page-tokens"]);
    const second = await open();
    const { log, lines } = capturingLogger();
    const made = await pageTokenKey(second, table, log);
    expect(made.byteLength).toBe(32);
    expect(made).not.toEqual(lost);
    expect(lines.map(({ msg }) => msg)).toEqual(["the key of page tokens was damaged, and is replaced"]);
    expect(await pageTokenKey(second, table)).toEqual(made);
    await second.transact((transaction) => transaction.put(table, ["page-tokens"], { key: new Uint8Array(5) }));
    expect((await pageTokenKey(second, table)).byteLength).toBe(32);
    await second.close();
  });
});
