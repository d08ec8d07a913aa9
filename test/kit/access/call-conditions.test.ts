import { expect, test, vi } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { conditionsOf } from "../../../services/kit/access/call-conditions.ts";
import { roleCaller } from "../../../services/kit/identity/caller.ts";
import { spellingOf } from "../../../services/kit/policy/spelling.ts";

test("a key of the caller that it does not have is not looked for among those of the call", () => {
  const now = vi.fn<() => number>(() => Date.parse("2026-01-02T03:04:05Z"));
  const names = { public: "s3", documented: "object-storage" };
  const caller = roleCaller("111122223333", "reader", "nightly", []);
  const call = {
    app: { clock: { now } },
    method: ObjectStorageService.method.getObject,
    caller,
    prefix: names.documented,
    spelling: spellingOf(names),
  };
  const conditions = conditionsOf(call, () => undefined, new Map([["aws:referer", ["of the resource"]]]));

  const absent = ["aws:username", "aws:sourceidentity", "aws:principaltag/team", "aws:sourceip"];
  expect(absent.map((key) => conditions.get(key))).toEqual(absent.map(() => undefined));
  expect(conditions.get("aws:principaltype")).toEqual(["AssumedRole"]);
  expect(conditions.get("aws:referer")).toEqual(["of the resource"]);
  expect(now).not.toHaveBeenCalled();
  expect(conditions.get("aws:currenttime")).toEqual(["2026-01-02T03:04:05.000Z"]);
  expect(now).toHaveBeenCalledOnce();
});
