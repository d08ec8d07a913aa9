import { describe, expect, test } from "vitest";

import { ErrorReasonSchema } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { Code, FaultRole } from "../../gen/quartet/traits/v1/fault_pb.ts";
import { faultTable } from "../../services/kit/faults/service-error.ts";

const table = faultTable(ErrorReasonSchema);

/** The public API's error names with their statuses, and the few that stand outside it. */
const statuses: Readonly<Record<string, number>> = {
  ValidationException: 400,
  InvalidResourcePolicyException: 400,
  AccessDeniedException: 403,
  ResourceNotFoundException: 404,
  ConflictException: 409,
  ServiceQuotaExceededException: 402,
  ThrottlingException: 429,
  InternalServerException: 500,
  MissingAuthenticationTokenException: 403,
  UnknownOperationException: 404,
  ServiceUnavailableException: 503,
  RequestTimeoutException: 408,
  RequestEntityTooLargeException: 413,
};

describe("the declared refusals", () => {
  test("have a name of the API and its status", () => {
    for (const { reason, name, httpStatus } of table.all())
      expect([reason, httpStatus]).toEqual([reason, statuses[name]]);
    expect(new Set(table.all().map(({ name }) => name))).toEqual(new Set(Object.keys(statuses)));
  });

  test("name the resource wherever the API's error has members for it", () => {
    const named = ["ResourceNotFoundException", "ConflictException", "ServiceQuotaExceededException"];
    for (const { reason, name, message } of table.all()) {
      const members = ["{resource_type}", "{resource_id}"].filter((member) => message.includes(member));
      expect([reason, members.length]).toEqual([reason, named.includes(name) ? 2 : 0]);
    }
  });

  test("have one for each role that the kit needs", () => {
    // The service encrypts nothing, so it can meet no refusal of a key.
    const keyRoles: FaultRole[] = [FaultRole.KEY_NOT_FOUND, FaultRole.KEY_DISABLED, FaultRole.KEY_PENDING_DELETION];
    const roles = Object.values(FaultRole).filter((role) => role !== FaultRole.UNSPECIFIED && !keyRoles.includes(role));
    expect(roles.map((role) => table.byRole(role).role)).toEqual(roles);
    expect(table.byRole(FaultRole.CONTENTION).code).toBe(Code.ABORTED);
  });
});
