import type { MessageInitShape } from "@bufbuild/protobuf";
import { clearExtension, clone, create, getOption, setExtension } from "@bufbuild/protobuf";
import { EnumValueDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { ErrorReason, ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import {
  Code,
  fault as faultOption,
  FaultRole,
  FaultRoleSchema,
  FaultSchema,
} from "../../../gen/quartet/traits/v1/fault_pb.ts";
import * as customerProfile from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import * as eventBus from "../../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import * as objectStorage from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import * as workspace from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { faultsOf, faultTable, roleFault } from "../../../services/kit/faults/service-error.ts";

const fault = faultsOf(ErrorReasonSchema);

describe("a fault", () => {
  test("carries the declared facts and fills the message from its metadata", () => {
    const thrown = fault(ErrorReason.THING_MISSING, { thing: "lamp" });
    expect(thrown.message).toBe("There is no lamp.");
    expect(thrown.metadata).toEqual({ thing: "lamp" });
    expect(thrown.facts).toMatchObject({
      reason: "THING_MISSING",
      domain: "test.quartet",
      code: Code.NOT_FOUND,
      name: "ThingMissing",
      publicName: "ThingMissing",
      httpStatus: 404,
    });
  });

  test("keeps its cause out of the message", () => {
    const thrown = fault(ErrorReason.THING_MISSING, { thing: "lamp" }, { cause: new Error("disk 7") });
    expect(thrown.message).not.toContain("disk 7");
    expect(thrown.cause).toEqual(new Error("disk 7"));
  });

  test("takes metadata as text, not as another template", () => {
    expect(fault(ErrorReason.THING_MISSING, { thing: "{request_id} $& $1" }).message).toBe(
      "There is no {request_id} $& $1.",
    );
  });

  test("is found by the role that the kit needs", () => {
    const thrown = roleFault(faultTable(ErrorReasonSchema), FaultRole.TOO_LARGE, { limit_bytes: "7" });
    expect([thrown.facts.reason, thrown.message]).toEqual(["TOO_LARGE", "The message is larger than 7 bytes."]);
  });

  test("is refused for a role that the service does not declare", () => {
    expect(() => roleFault(faultTable(ErrorReasonSchema), FaultRole.INVALID_PAGE_TOKEN)).toThrow(
      "quartet.test.v1.ErrorReason declares no reason for role FAULT_ROLE_INVALID_PAGE_TOKEN",
    );
  });
});

describe("the reasons of a service", () => {
  const [, declared] = ErrorReasonSchema.values;
  const { name, httpStatus, code, message } = getOption(declared!, faultOption);

  /** The reasons of a service of which one declares this. */
  const withFault = (given?: MessageInitShape<typeof FaultSchema>) => {
    const proto = clone(EnumValueDescriptorProtoSchema, declared!.proto);
    clearExtension(proto.options!, faultOption);
    if (given !== undefined) setExtension(proto.options!, faultOption, create(FaultSchema, given));
    return { ...ErrorReasonSchema, values: [{ ...declared!, proto }] };
  };
  const whole = { name, httpStatus, code, message };

  test("are read when each declares a whole fault", () => {
    expect(faultTable(withFault(whole)).all()).toHaveLength(1);
  });

  test.each([
    // what is declared, why the service has no table
    [undefined, "declares no fault"],
    [{ ...whole, name: "" }, "declares an incomplete fault"],
    [{ ...whole, httpStatus: 0 }, "declares an incomplete fault"],
    [{ ...whole, code: Code.UNSPECIFIED }, "declares an incomplete fault"],
    [{ ...whole, message: "" }, "declares an incomplete fault"],
  ])("are refused with %j", (given, why) => {
    expect(() => faultTable(withFault(given))).toThrow(why);
  });
});

describe("each service's reasons", () => {
  const always = [
    FaultRole.INTERNAL,
    FaultRole.INVALID_INPUT,
    FaultRole.UNAUTHENTICATED,
    FaultRole.ACCESS_DENIED,
    FaultRole.NOT_IMPLEMENTED,
    FaultRole.THROTTLED,
    FaultRole.UNAVAILABLE,
    FaultRole.CONTENTION,
    FaultRole.STORAGE_FULL,
  ];
  const enums = [
    ["customer profile", customerProfile.ErrorReasonSchema],
    ["event bus", eventBus.ErrorReasonSchema],
    ["object storage", objectStorage.ErrorReasonSchema],
    ["refactoring workspace", workspace.ErrorReasonSchema],
  ] as const;

  test.each(enums)("%s: each has all its facts", (_name, reasons) => {
    expect(() => faultTable(reasons)).not.toThrow();
  });

  test.each(enums)("%s: one for each role that the kit always needs, and none twice", (_name, reasons) => {
    const roles = faultTable(reasons)
      .all()
      .map((facts) => facts.role)
      .filter((role) => role !== FaultRole.UNSPECIFIED);
    expect(always.filter((role) => !roles.includes(role)).map((role) => FaultRoleSchema.value[role]?.name)).toEqual([]);
    expect(roles).toHaveLength(new Set(roles).size);
  });

  test.each(enums)("%s: hides only metadata that exists by the rules of its spelling", (_name, reasons) => {
    const hidden = faultTable(reasons)
      .all()
      .flatMap((facts) => facts.hiddenMembers);
    expect(hidden.filter((member) => !/^[a-z0-9_]+$/.test(member))).toEqual([]);
  });
});
