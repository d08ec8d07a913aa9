import { expect, test } from "vitest";

import { defaultGatewayLimits } from "../../../gateway/http/limits.ts";
import type { HttpExchange } from "../../../gateway/pipeline/exchange.ts";
import { readHead } from "../../../gateway/pipeline/exchange.ts";
import { refused } from "../support/refused.ts";

const head = (url: string) =>
  readHead({ request: { url, method: "GET" }, rawPath: "/novels", rawQuery: "emma" } as HttpExchange, {
    ...defaultGatewayLimits,
    targetLengthMax: 12,
  });

test("a target is as long as the limit, with its query, and no longer", () => {
  expect(head("/novels?emma")).toMatchObject({ method: "GET", rawPath: "/novels" });
  expect(() => head("/novels?emmas")).toThrow(refused("URI_TOO_LONG"));
});
