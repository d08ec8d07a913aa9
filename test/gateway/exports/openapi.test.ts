import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";

import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { exportSources } from "../../../gateway/exports/export-source.ts";
import { openApiDocument } from "../../../gateway/exports/openapi.ts";
import { readProtoComments } from "../../../gateway/exports/proto-comments.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: unknown;
  readonly tags: readonly string[];
  readonly "x-quartet-offered": boolean;
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly responses: Readonly<Record<string, unknown>>;
  };
}

const exported = exportSources(spellingOf(svcDialect("svc")), readProtoComments()).map((source) => ({
  api: source.api.name,
  service: source.service,
  document: openApiDocument(source) as unknown as Document,
}));
const [profiles, , events, objects] = exported.map(({ document }) => document);

const operationsOf = ({ paths }: Document): Operation[] => Object.values(paths).flatMap((path) => Object.values(path));

const textsUnder = (value: unknown, key: string): string[] => {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.entries(value).flatMap(([name, each]) => (name === key && typeof each === "string" ? [each] : []));
  return [...own, ...Object.values(value).flatMap((each) => textsUnder(each, key))];
};

const resolve = (document: Document, reference: string): unknown =>
  reference
    .slice(2)
    .split("/")
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document);

describe("an OpenAPI document", () => {
  test.each([
    ["customer-profile", "Account Domain IdentityResolution Integration Match Profile Resource"],
    ["refactoring-workspace", "Application Environment Resource Route Service"],
    [
      "event-bus",
      "ApiDestination Archive Connection DeadLetter Endpoint Event Partner Permission Replay Resource Rule Schema Target",
    ],
    ["object-storage", "Account Bucket MultipartUpload Object Resource"],
  ])("of %s groups its operations by what they are about", (name, tags) => {
    const { document } = exported.find(({ api }) => api === name) ?? {};
    const groups = new Set(operationsOf(document as Document).flatMap((operation) => operation.tags));
    groups.delete("Tag");
    expect([...groups].toSorted((a, b) => (a < b ? -1 : 1)).join(" ")).toBe(tags);
  });

  const unofferedOf = (document: Document | undefined) =>
    operationsOf(document!)
      .filter((operation) => !operation["x-quartet-offered"])
      .map(({ operationId }) => operationId);

  test.each(exported)("of $api marks no operation as not offered", ({ document }) => {
    expect(unofferedOf(document)).toEqual([]);
  });

  test("marks the operations that are not offered", () => {
    const [source] = exportSources(spellingOf(svcDialect("svc")), readProtoComments());
    const less = openApiDocument({ ...source!, unoffered: new Set(["GetMatches", "MergeProfiles"]) });
    expect(unofferedOf(less as unknown as Document)).toEqual(["GetMatches", "MergeProfiles"]);
  });

  test.each(exported)("of $api holds the schema of OpenAPI 3.1", async ({ document }) => {
    const checked = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>);
    expect(checked.errors ?? []).toEqual([]);
    expect(checked.valid).toBe(true);
    expect(document.openapi).toBe("3.1.0");
  });

  test.each(exported)("of $api has every operation once, described", ({ document, service }) => {
    const operations = operationsOf(document);
    expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(
      service.methods.map(({ name }) => name).toSorted(),
    );
    expect(operations.filter(({ description }) => description === undefined)).toEqual([]);
  });

  test.each(exported)("of $api refers only to what it has", ({ document }) => {
    const missing = textsUnder(document, "$ref").filter((reference) => resolve(document, reference) === undefined);
    expect(missing).toEqual([]);
  });

  test.each(exported)("of $api has patterns that can be read", ({ document }) => {
    for (const pattern of textsUnder(document.components, "pattern"))
      expect(() => new RegExp(pattern, "u")).not.toThrow();
  });

  test.each(exported)("of $api has a parameter for each label of a path, and no other", ({ document }) => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const { parameters } of Object.values(methods)) {
        const labels = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "").toSorted();
        const named = parameters.filter((each) => each.in === "path").map(({ name }) => name);
        expect(named.toSorted()).toEqual(labels);
      }
  });

  test.each(exported)("of $api gives no operation the same parameter twice", ({ document }) => {
    for (const { parameters } of operationsOf(document)) {
      const keys = parameters.map((each) => `${each.in} ${each.name.toLowerCase()}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test("tells constraints of members", () => {
    expect(profiles?.components.schemas["CreateDomainRequest"]).toMatchObject({
      type: "object",
      properties: {
        DefaultExpirationDays: { type: "integer", format: "int32", minimum: 1, maximum: 1098 },
        DeadLetterQueueUrl: { type: "string", maxLength: 255 },
        Tags: { type: "object", minProperties: 1, maxProperties: 50 },
      },
      required: ["DefaultExpirationDays"],
    });
  });

  test("tells operations of one path apart by what a request must carry", () => {
    expect(objects?.paths["/{Bucket}#versioning"]?.["put"]?.operationId).toBe("PutBucketVersioning");
    expect(objects?.paths["/{Bucket}/{Key}#x-svc-copy-source"]?.["put"]?.operationId).toBe("CopyObject");
    expect(objects?.paths["/{Bucket}/{Key}#partNumber&uploadId"]?.["put"]?.operationId).toBe("UploadPart");
    expect(events?.paths["/#EventBus.PutEvents"]?.["post"]?.parameters).toEqual([
      { name: "x-svc-target", in: "header", required: true, schema: { type: "string", const: "EventBus.PutEvents" } },
    ]);
  });

  test("lists errors by status, those of the service and those of the gateway", () => {
    const names = [
      "ExpiredTokenException",
      "InvalidSignatureException",
      "MissingAuthenticationTokenException",
      "UnrecognizedClientException",
    ];
    expect(events?.components.responses["Status403"]).toMatchObject({
      description: names.join(", "),
      content: { "application/x-svc-json-1.1": { schema: { properties: { __type: { enum: names } } } } },
    });
    expect(Object.keys(events?.components.responses ?? {})).not.toContain("Status412");
    expect(objects?.components.responses["Status412"]).toMatchObject({ description: "PreconditionFailed" });
    expect(objects?.components.responses["Status403"]).toMatchObject({
      description: expect.stringContaining("SignatureDoesNotMatch"),
      content: {
        "application/xml": {
          schema: { properties: { SVCAccessKeyId: { type: "string" }, StringToSign: { type: "string" } } },
        },
      },
    });
    expect(objects?.paths["/{Bucket}/{Key}"]?.["get"]?.responses["404"]).toEqual({
      $ref: "#/components/responses/Status404",
    });
  });

  test("tells how XML is written", () => {
    expect(objects?.components.schemas["Delete"]).toMatchObject({
      properties: { Object: { type: "array", xml: { wrapped: false } } },
    });
  });
});
