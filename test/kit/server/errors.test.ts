import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { faultTable } from "../../../services/kit/faults/service-error.ts";
import { NamedKeyError } from "../../../services/kit/keyring/key-names.ts";
import { MasterKeyMissingError } from "../../../services/kit/keyring/keyring.ts";
import { SealBrokenError } from "../../../services/kit/keyring/sealed.ts";
import { refusalOf } from "../../../services/kit/server/errors.ts";
import { StoreFullError } from "../../../services/kit/store/errors.ts";

// what a handler threw, code, reason, whether the operator must see it
test.for([
  [new SealBrokenError(), Code.DataLoss, "DATA_LOSS", true],
  [new MasterKeyMissingError("24d076ef41648f3a"), Code.DataLoss, "DATA_LOSS", true],
  // The test service declares no reasons for keys.
  [new NamedKeyError("DISABLED", "crm"), Code.Internal, "INTERNAL", true],
] as const)("what cannot be decrypted is refused without its text: %s", ([thrown, code, reason, isDefect]) => {
  const refusal = refusalOf(thrown, faultTable(ErrorReasonSchema), "r-1");
  expect([refusal.error.code, refusal.reason, refusal.isDefect]).toEqual([code, reason, isDefect]);
  expect(refusal.error.rawMessage).not.toContain(thrown.message);
});

// what a handler threw
test.for([
  new StoreFullError("the disk has too little room for this change"),
  Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" }),
  Object.assign(new Error("EDQUOT: disk quota exceeded, open"), { code: "EDQUOT", syscall: "open" }),
])("a full disk is a refusal of its own and no defect: %s", (thrown) => {
  const refusal = refusalOf(thrown, faultTable(ErrorReasonSchema), "r-1");
  expect([refusal.error.code, refusal.reason, refusal.isDefect]).toEqual([
    Code.ResourceExhausted,
    "STORAGE_FULL",
    false,
  ]);
  expect(refusal.error.rawMessage).toBe("There is not enough room to store this.");
});
