import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService, ListRulesRequestSchema } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { createPageTokens } from "../../../services/kit/page-tokens/page-tokens.ts";
import { createPages } from "../../../services/kit/page-tokens/pages.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const hourMs = 3_600_000;
const ada = { method: EventBusService.method.listRules, caller: { accountId: "111122223333" } };
const names = ["a", "b", "c", "d"];
const itself = (name: string) => name;

const start = () => {
  const clock = new FakeClock();
  const tokens = createPageTokens({ key: new Uint8Array(32).fill(7), clock, lifetimeMs: hourMs });
  return { clock, pages: createPages({ tokens, errors: ErrorReasonSchema, itemsDefault: 3, bytesMax: 100 }) };
};

const request = (nextToken?: string, limit?: number) => create(ListRulesRequestSchema, { nextToken, limit });

const refusalOf = (open: () => unknown) => {
  try {
    open();
  } catch (error) {
    const { facts, metadata } = error as { facts: { reason: string }; metadata: object };
    return { reason: facts.reason, metadata };
  }
  return "answered";
};

const refused = { reason: "INVALID_PAGE_TOKEN", metadata: { member: "NextToken" } };

describe("a page", () => {
  test("begins at the beginning, has the default number of items, and a token if there is more", () => {
    const page = start().pages.open(ada, request());
    expect({ after: page.after, itemsMax: page.itemsMax, lookFor: page.lookFor }).toEqual({
      after: undefined,
      itemsMax: 3,
      lookFor: 4,
    });
    const { items, nextToken } = page.cut(names, itself);
    expect(items).toEqual(["a", "b", "c"]);
    expect(nextToken).toMatch(/^[A-Za-z0-9+/]+=*$/);
  });

  test("begins after the last item of the page that its token is from", () => {
    const { pages } = start();
    const { nextToken } = pages.open(ada, request(undefined, 2)).cut(names, itself);
    expect(pages.open(ada, request(nextToken)).after).toBe("b");
  });

  test("has no token if nothing follows", () => {
    const { pages } = start();
    expect(pages.open(ada, request(undefined, 4)).cut(names, itself)).toEqual({ items: names });
    expect(pages.open(ada, request()).cut([], itself)).toEqual({ items: [] });
  });

  test("ends before its items are too large together, and has at least one", () => {
    const { pages } = start();
    const sized = (bytes: number) => pages.open(ada, request()).cut(["a", "b"], itself, () => bytes);
    expect(sized(50)).toEqual({ items: ["a", "b"] });
    expect(sized(51)).toMatchObject({ items: ["a"], nextToken: expect.any(String) });
    expect(sized(1_000)).toMatchObject({ items: ["a"], nextToken: expect.any(String) });
  });

  test("is refused with a token of another listing, caller or filter, a changed one, or one that is too old", () => {
    const { clock, pages } = start();
    const nextToken = pages.open(ada, request(), ["default"]).tokenOf("b");
    const changed = nextToken.slice(0, 20) + (nextToken[20] === "A" ? "B" : "A") + nextToken.slice(21);
    const open = (call: typeof ada, filters: string[]) => () => pages.open(call, request(nextToken), filters);
    expect(open(ada, ["default"])).not.toThrow();
    expect(refusalOf(open(ada, ["other"]))).toEqual(refused);
    expect(refusalOf(open({ ...ada, caller: { accountId: "444455556666" } }, ["default"]))).toEqual(refused);
    expect(refusalOf(() => pages.open(ada, request(changed), ["default"]))).toEqual(refused);
    const archives = { ...ada, method: EventBusService.method.listArchives };
    expect(refusalOf(() => pages.open(archives, request(nextToken), ["default"]))).toEqual(refused);
    clock.advance(hourMs);
    expect(refusalOf(open(ada, ["default"]))).toEqual(refused);
  });

  test("is an error in the program for a method that is not paged", () => {
    const call = { ...ada, method: EventBusService.method.putRule };
    expect(() => start().pages.open(call, request())).toThrow("PutRule is not declared as paginated");
  });
});
