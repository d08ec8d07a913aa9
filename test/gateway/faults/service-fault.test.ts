import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";

import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { ErrorReasonSchema } from "../../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { serviceFault } from "../../../gateway/faults/service-fault.ts";
import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { FaultFacts } from "../../../services/kit/faults/service-error.ts";
import { faultTable } from "../../../services/kit/faults/service-error.ts";

const table = faultTable(ErrorReasonSchema);
const context = { table, protocol: Protocol.REST_XML, spelling: spellingOf(amzDialect), bound: undefined };

describe("a failed call", () => {
  test.each([
    // code without a reason, name, status
    [Code.Canceled, "ServiceUnavailable", 503],
    [Code.Unknown, "InternalError", 500],
    [Code.InvalidArgument, "InternalError", 500],
    [Code.DeadlineExceeded, "ServiceUnavailable", 503],
    [Code.NotFound, "InternalError", 500],
    [Code.AlreadyExists, "InternalError", 500],
    [Code.PermissionDenied, "AccessDenied", 403],
    [Code.ResourceExhausted, "SlowDown", 503],
    [Code.FailedPrecondition, "InternalError", 500],
    [Code.Aborted, "ServiceUnavailable", 503],
    [Code.OutOfRange, "InternalError", 500],
    [Code.Unimplemented, "NotImplemented", 501],
    [Code.Internal, "InternalError", 500],
    [Code.Unavailable, "ServiceUnavailable", 503],
    [Code.DataLoss, "InternalError", 500],
    [Code.Unauthenticated, "AccessDenied", 403],
  ])("with code %i and no reason is told as %s %i, without its text", (code, name, status) => {
    const fault = serviceFault(new ConnectError("a text from inside", code), context);
    expect(fault).toMatchObject({ name, status });
    expect(fault.message).not.toContain("a text from inside");
  });

  test("whose deadline the service noticed is told as unavailable, not as the client's slowness", () => {
    const deadline: FaultFacts = {
      ...table.byRole(FaultRole.INTERNAL),
      reason: "DEADLINE",
      name: "RequestTimeout",
      httpStatus: 400,
      role: FaultRole.DEADLINE,
    };
    const error = new ConnectError("too late", Code.DeadlineExceeded);
    error.details = [{ desc: ErrorInfoSchema, value: { reason: "DEADLINE", domain: table.domain } }];
    const withDeadline = { ...table, findByReason: () => deadline };
    expect(serviceFault(error, { ...context, table: withDeadline })).toMatchObject({
      name: "ServiceUnavailable",
      status: 503,
      headers: { "retry-after": "1" },
    });
  });

  test("with another service's reason is told by its code", () => {
    const error = new ConnectError("elsewhere", Code.NotFound);
    error.details = [{ desc: ErrorInfoSchema, value: { reason: "NO_SUCH_BOOK", domain: "elsewhere.quartet" } }];
    expect(serviceFault(error, context)).toMatchObject({ name: "InternalError" });
  });

  test("with a declared reason takes along only the headers that a client may see", () => {
    const headers = { "x-svc-marker": "true", etag: '"1"', "x-request-id": "1", "content-type": "application/proto" };
    const error = new ConnectError("There is no book emma.", Code.NotFound, headers);
    const metadata = { book_name: "emma", shelf_secret: "behind the clock" };
    error.details = [{ desc: ErrorInfoSchema, value: { reason: "NO_SUCH_BOOK", domain: table.domain, metadata } }];
    expect(serviceFault(error, context)).toEqual({
      name: "NoSuchBook",
      publicName: "NoSuchVolume",
      status: 404,
      message: "There is no book emma.",
      members: [["BookName", "emma"]],
      headers: { "x-svc-marker": "true", etag: '"1"' },
    });
  });
});
