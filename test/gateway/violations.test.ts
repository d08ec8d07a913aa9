import type { JsonValue } from "@bufbuild/protobuf";
import { createClient, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ErrorReason, ErrorReasonSchema } from "../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { ReaderService } from "../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import { faultsOf } from "../../services/kit/faults/service-error.ts";
import type { Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";

const fault = faultsOf(ErrorReasonSchema);

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture.stop());

const messageOf = (body: string): string => {
  const parsed = JSON.parse(body) as { Message?: string; message: string };
  return parsed.Message ?? parsed.message;
};

const xmlMessageOf = (body: string): string => /<Message>([^<]*)<\/Message>/.exec(body)?.[1] ?? "";

const many = (count: number, sentence: string): string =>
  `${count} validation error${count === 1 ? "" : "s"} detected: ${sentence}`;

describe("a violated constraint is told with the caller's names over JSON", () => {
  test.each<[string, JsonValue, string, string]>([
    // what is wrong, body, told in the documented dialect, told in the public one
    [
      "a member of a member that the dialects name differently",
      { DefaultExpirationDays: 1, FunctionEndpoint: {} },
      many(1, "Value null at 'FunctionEndpoint.Arn' failed to satisfy constraint: Member must not be null"),
      many(1, "Value null at 'lambdaEndpoint.arn' failed to satisfy constraint: Member must not be null"),
    ],
    [
      "an enum that the dialects spell differently",
      { DefaultExpirationDays: 1, Kind: "BOOKWORM" },
      many(
        1,
        "Value 'BOOKWORM' at 'Kind' failed to satisfy constraint: Member must satisfy enum value set: [FUNCTION, URL]",
      ),
      many(
        1,
        "Value 'BOOKWORM' at 'kind' failed to satisfy constraint: Member must satisfy enum value set: [LAMBDA, URL]",
      ),
    ],
    [
      "a value that looks like a name, which is told as it came",
      { DefaultExpirationDays: 1, Secret: "", Address: { Street: "FunctionEndpoint" } },
      many(
        2,
        "Value at 'Secret' failed to satisfy constraint: Member must have length greater than or equal to 1; " +
          "Value 'FunctionEndpoint' at 'Address.Street' failed to satisfy constraint: Member must have length less than or equal to 8",
      ),
      many(
        2,
        "Value at 'secret' failed to satisfy constraint: Member must have length greater than or equal to 1; " +
          "Value 'FunctionEndpoint' at 'address.street' failed to satisfy constraint: Member must have length less than or equal to 8",
      ),
    ],
    [
      "a list and a wrapped map",
      { DefaultExpirationDays: 1, Languages: ["fr"], tags: { a: "longer" } },
      many(
        2,
        "Value 'longer' at 'tags.a' failed to satisfy constraint: Member must have length less than or equal to 4; " +
          "Value 'fr' at 'Languages[0]' failed to satisfy constraint: Member must satisfy enum value set: [en, de]",
      ),
      many(
        2,
        "Value 'longer' at 'tags.a' failed to satisfy constraint: Member must have length less than or equal to 4; " +
          "Value 'fr' at 'languages.1.member' failed to satisfy constraint: Member must satisfy enum value set: [en, de]",
      ),
    ],
    [
      "a text that is no value of its enum, beside a constraint",
      { Kind: "BOOKWORM" },
      many(
        2,
        "Value 'BOOKWORM' at 'Kind' failed to satisfy constraint: Member must satisfy enum value set: [FUNCTION, URL]; " +
          "Value null at 'DefaultExpirationDays' failed to satisfy constraint: Member must not be null",
      ),
      many(
        2,
        "Value 'BOOKWORM' at 'kind' failed to satisfy constraint: Member must satisfy enum value set: [LAMBDA, URL]; " +
          "Value null at 'defaultExpirationDays' failed to satisfy constraint: Member must not be null",
      ),
    ],
    [
      "a member of another type",
      { DefaultExpirationDays: 1, FunctionEndpoint: "lamp" },
      "Member 'FunctionEndpoint' must be an object.",
      "Member 'LambdaEndpoint' must be an object.",
    ],
    [
      "a member of a member of another type, sent by its other name",
      { DefaultExpirationDays: 1, LambdaEndpoint: { Arn: 1 } },
      "Member 'FunctionEndpoint.Arn' must be a string.",
      "Member 'LambdaEndpoint.Arn' must be a string.",
    ],
  ])("%s", async (_what, body, documented, open) => {
    const request = { method: "POST", target: "/readers/Ada", body: JSON.stringify(body) };
    const inSvc = await fixture.call("customer-profile", "svc", request);
    const inAmz = await fixture.call("customer-profile", "amz", request);
    expect([inSvc.status, messageOf(inSvc.body)]).toEqual([400, documented]);
    expect([inAmz.status, messageOf(inAmz.body)]).toEqual([400, open]);
  });
});

test("a violated constraint is told with the caller's values over XML", async () => {
  const request = { method: "PUT", target: "/novels/emma", body: "Emma" };
  const inSvc = await fixture.call("object-storage", "svc", { ...request, headers: { "x-svc-book-class": "gone" } });
  const inAmz = await fixture.call("object-storage", "amz", { ...request, headers: { "x-amz-book-class": "gone" } });
  expect(xmlMessageOf(inSvc.body)).toContain("[STANDARD, svc:lock]");
  expect(xmlMessageOf(inAmz.body)).toContain("[STANDARD, aws:lock]");
});

test("a violated constraint is told with proto paths over RPC", async () => {
  const transport = createTransport({ address: fixture.servicesUrl, engine: "grpc" });
  const headers = { authorization: `Bearer ${await fixture.token()}` };
  const request = {
    readerName: "Ada",
    defaultExpirationDays: 1,
    functionEndpoint: {},
    tags: { tags: { a: "longer" } },
  };
  const refused = await createClient(ReaderService, transport)
    .createReader(request, { headers })
    .catch((error: unknown) => ConnectError.from(error));
  await transport.close();
  const error = refused as ConnectError;
  expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject([
    { field: "tags.tags.a", description: "Member must have length less than or equal to 4" },
    { field: "function_endpoint.arn", description: "Member must not be null" },
  ]);
  expect(error.findDetails(ErrorInfoSchema)[0]?.metadata["member"]).toBe("tags.tags.a");
});

test.each<["svc" | "amz", string]>([
  // dialect, told; what the caller wrote is never touched
  ["svc", "FunctionEndpoint needs x-svc-lamp of FUNCTION, but not x-svc-given FUNCTION"],
  ["amz", "LambdaEndpoint needs x-amz-lamp of LAMBDA, but not x-svc-given FUNCTION"],
])("a service's words for members, headers and values are told in dialect %s", async (dialect, told) => {
  fixture.answer("CreateReader", () => {
    throw fault(ErrorReason.ILL_FITTING, {
      problem: "FunctionEndpoint needs x-svc-lamp of FUNCTION",
      given: "x-svc-given FUNCTION",
    });
  });
  const request = { method: "POST", target: "/readers/Ada", body: '{"DefaultExpirationDays":1}' };
  const response = await fixture.call("customer-profile", dialect, request);
  expect(JSON.parse(response.body)).toMatchObject({
    Message: told,
    Problem: told.split(", but")[0],
  });
});
