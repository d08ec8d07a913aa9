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
  ['{"detail":{"source":["shop"]}}', { "events:detail.source": ["shop"] }],
  [
    '{"detail":{"Service":["EC2"],"userIdentity":{"principalId":["a","b"]}}}',
    { "events:detail.service": ["EC2"], "events:detail.useridentity.principalid": ["a", "b"] },
  ],
  ['{"detail":{"service":[{"prefix":"E"}],"state":["on",1]}}', {}],
  ['{"detail":{"service":["EC2"],"Service":["S3"]}}', {}],
  ['{"detail":{"a":{"b":["x"]},"a.b":[{"exists":true}]}}', {}],
  ['{"detail":{"service":["EC2"]},"detail.service":["S3"]}', {}],
  ['{"detail.service":["EC2"]}', { "events:detail.service": ["EC2"] }],
  ['{"Source":["shop"],"Detail":{"service":["EC2"]}}', {}],
  ['{"source":["shop"],"detail":{"a":{"$or":[{"b":["y"]},{"c":["z"]}]},"a.b":["x"]}}', { "events:source": ["shop"] }],
  ['{"detail":{"service":["EC2"],"$or":[{"service":["S3"]},{"id":["z"]}]}}', {}],
  ['{"detail":["x"]}', {}],
  ["[]", {}],
  ["{", {}],
  ["", {}],
])("a rule with the pattern %s has the keys %j", (pattern, keys) => {
  expect(Object.fromEntries(patternConditions(pattern))).toEqual(keys);
});
