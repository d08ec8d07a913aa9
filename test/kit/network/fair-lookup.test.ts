import type { LookupAddress } from "node:dns";

import { describe, expect, test } from "vitest";

import { createFairLookup } from "../../../services/kit/network/fair-lookup.ts";

const address: LookupAddress = { address: "192.0.2.1", family: 4 };

/** A system whose name servers answer when the test says so. */
const openSystem = () => {
  const asked: string[] = [];
  const answers = new Map<string, PromiseWithResolvers<LookupAddress[]>>();
  const lookup = createFairLookup((hostname) => {
    asked.push(hostname);
    const answer = Promise.withResolvers<LookupAddress[]>();
    answers.set(hostname, answer);
    return answer.promise;
  });
  return { asked, lookup, answer: (hostname: string) => answers.get(hostname) };
};

describe("a lookup", () => {
  test("waits for others of its domain, and not for those of another one", async () => {
    const { asked, lookup, answer } = openSystem();
    const found = ["a.slow.example", "b.slow.example", "C.SLOW.example.", "slow.example", "quick.example"].map(
      (hostname) => lookup(hostname),
    );
    expect(asked).toEqual(["a.slow.example", "b.slow.example", "quick.example"]);
    answer("quick.example")?.resolve([address]);
    expect(await found[4]).toEqual([address]);
    answer("b.slow.example")?.reject(new Error("no answer"));
    await expect(found[1]).rejects.toThrow("no answer");
    expect(asked.slice(3)).toEqual(["C.SLOW.example."]);
    for (const hostname of ["a.slow.example", "C.SLOW.example."]) answer(hostname)?.resolve([address]);
    await Promise.all([found[0], found[2]]);
    expect(asked.slice(4)).toEqual(["slow.example"]);
  });

  test("of a name that is being looked up has the same answer, and a later one another", async () => {
    const { asked, lookup, answer } = openSystem();
    const both = [lookup("shop.example"), lookup("shop.example")];
    answer("shop.example")?.resolve([address]);
    expect(await Promise.all(both)).toEqual([[address], [address]]);
    void lookup("shop.example");
    expect(asked).toEqual(["shop.example", "shop.example"]);
  });

  test("fails at once where too many of its domain wait, and is made again when these have ended", async () => {
    const { asked, lookup, answer } = openSystem();
    const names = Array.from({ length: 258 }, (_, each) => `${each}.slow.example`);
    const found = names.map((hostname) => lookup(hostname));
    await expect(lookup("one-more.slow.example")).rejects.toMatchObject({ code: "EAI_AGAIN" });
    for (const [each, hostname] of names.entries()) {
      answer(hostname)?.resolve([]);
      await found[each];
    }
    void lookup("one-more.slow.example");
    expect(asked).toEqual([...names, "one-more.slow.example"]);
  });

  test("waits for none of another holder under a common suffix", () => {
    const { asked, lookup } = openSystem();
    const names = ["a.slow.co.uk", "b.slow.co.uk", "c.slow.co.uk", "www.shop.co.uk", "localhost"];
    for (const hostname of names) void lookup(hostname);
    expect(asked).toEqual(names.filter((hostname) => hostname !== "c.slow.co.uk"));
  });
});
