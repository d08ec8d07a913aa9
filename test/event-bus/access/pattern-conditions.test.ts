import { expect, test } from "vitest";

import { patternConditions } from "../../../services/event-bus/access/pattern-conditions.ts";

// pattern | the condition keys of the rule
test.each([
  ['{"source":["shop","bank"]}', { "events:source": ["shop", "bank"] }],
  ['{"source":["shop"],"detail-type":["Sale"]}', { "events:source": ["shop"], "events:detail-type": ["Sale"] }],
  ['{"source":["bank"],"source":["shop"]}', { "events:source": ["shop"] }],
  ['{"source":[{"prefix":"sh"}]}', {}],
  ['{"source":["shop",{"prefix":"ba"}]}', {}],
  ['{"source":["shop"],"$or":[{"source":["bank"]},{"account":["1"]}]}', {}],
  ['{"source":"shop"}', {}],
  ['{"detail":{"source":["shop"]}}', {}],
  ["[]", {}],
  ["{", {}],
  ["", {}],
])("a rule with the pattern %s has the keys %j", (pattern, keys) => {
  expect(Object.fromEntries(patternConditions(pattern))).toEqual(keys);
});
