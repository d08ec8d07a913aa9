import { describe, expect, test } from "vitest";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { botocoreModel } from "../../../gateway/exports/botocore.ts";
import { exportSources } from "../../../gateway/exports/export-source.ts";
import type { MemberFacts } from "../../contract/model.ts";
import { apis } from "../../contract/model.ts";

interface Member {
  readonly shape: string;
  readonly location?: string;
  readonly locationName?: string;
}

interface Structure {
  readonly type: string;
  readonly members?: Readonly<Record<string, Member>>;
  readonly required?: readonly string[];
  readonly payload?: string;
}

interface Operation {
  readonly http: { readonly method: string; readonly requestUri: string; readonly responseCode: number };
  readonly input: Member;
  readonly output: Member;
  readonly errors: readonly Member[];
}

interface Model {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly shapes: Readonly<Record<string, Structure>>;
}

const modelsOf = (dialect: Parameters<typeof spellingOf>[0]) =>
  exportSources(spellingOf(dialect), () => undefined).map((source) => {
    const { service, paginators } = botocoreModel(source);
    return { api: source.api.name, model: service as unknown as Model, paginators, service: source.service };
  });

const documented = modelsOf(svcDialect("svc"));
const published = modelsOf(amzDialect);

/** Every name of a shape that the model refers to. */
const referencesIn = (value: unknown): string[] => {
  if (typeof value !== "object" || value === null) return [];
  const own = "shape" in value && typeof value.shape === "string" ? [value.shape] : [];
  return [...own, ...Object.values(value).flatMap(referencesIn)];
};

describe("a botocore model", () => {
  test.each([
    // api, protocol, signing name, target prefix
    { index: 0, api: "customer-profile", protocol: "rest-json", signingName: "customer-profile" },
    { index: 1, api: "refactoring-workspace", protocol: "rest-json", signingName: "refactoring-workspace" },
    { index: 2, api: "event-bus", protocol: "json", signingName: "event-bus", targetPrefix: "EventBus" },
    { index: 3, api: "object-storage", protocol: "rest-xml", signingName: "object-storage" },
  ])("of $api says how it is called", ({ index, api, protocol, signingName, targetPrefix }) => {
    expect(documented[index]?.model.metadata).toMatchObject({
      endpointPrefix: api,
      protocol,
      signingName,
      signatureVersion: "svc4",
      ...(targetPrefix === undefined ? {} : { targetPrefix }),
    });
  });

  test.each(documented)(
    "of $api has every operation of its service, and every shape that it names",
    ({ model, service }) => {
      expect(Object.keys(model.operations)).toEqual(service.methods.map(({ name }) => name).toSorted());
      const missing = referencesIn(model).filter((name) => model.shapes[name] === undefined);
      expect(missing).toEqual([]);
    },
  );

  test("places members where the documented dialect has them", () => {
    const model = documented[3]?.model;
    const input = model?.shapes["PutObjectRequest"];
    expect(model?.operations["PutObject"]?.http).toEqual({
      method: "PUT",
      requestUri: "/{Bucket}/{Key+}",
      responseCode: 200,
    });
    expect(input?.required).toEqual(["Bucket", "Key"]);
    expect(input?.payload).toBe("Body");
    expect(input?.members?.["Key"]).toMatchObject({ location: "uri", locationName: "Key" });
    expect(input?.members?.["Metadata"]).toMatchObject({ location: "headers", locationName: "x-svc-meta-" });
    expect(input?.members?.["SseKmsKeyId"]).toMatchObject({
      location: "header",
      locationName: "x-svc-server-side-encryption-svc-kms-key-id",
    });
    expect(model?.shapes["Delete"]?.members?.["Objects"]).toMatchObject({ locationName: "Object" });
  });

  test("names refusals with their status and the members that they tell", () => {
    expect(documented[1]?.model.shapes["ResourceNotFoundException"]).toEqual({
      type: "structure",
      members: {
        Message: { shape: "ErrorText" },
        ResourceId: { shape: "ErrorText" },
        ResourceType: { shape: "ErrorText" },
      },
      error: { httpStatusCode: 404, senderFault: true },
      exception: true,
    });
  });

  test("pages listings by the members that clients know", () => {
    expect(documented[2]?.paginators).toMatchObject({
      pagination: {
        ListRules: { input_token: "NextToken", output_token: "NextToken", limit_key: "Limit", result_key: "Rules" },
      },
    });
  });
});

/** Where a member stands and how it is named there; the names that programs use may differ from the public ones. */
const placesIn = (structure: Structure | undefined): Set<string> =>
  new Set(
    Object.entries(structure?.members ?? {}).map(([name, member]) =>
      name === structure?.payload ? "payload" : `${member.location ?? "body"} ${member.locationName ?? name}`,
    ),
  );

const placeOf = (name: string, facts: MemberFacts): string => {
  if (facts.in === "payload") return "payload";
  const named = (facts.named ?? name).replaceAll(/(?<=^|-)x-svc-/g, "x-amz-").replace("-svc-kms", "-aws-kms");
  return `${facts.in ?? "body"} ${facts.in === "header" ? named.toLowerCase() : named}`;
};

describe("in the public dialect, a botocore model", () => {
  test.each(published)("of $api has the members of the public one in the same places", ({ api, model }) => {
    const facts = apis.find((each) => each.api === api)?.model;
    const missing = Object.entries(model.operations).flatMap(([name, operation]) =>
      (["input", "output"] as const).flatMap((side) => {
        const expected = facts?.shapes[facts.operations[name]?.[side] ?? ""] ?? {};
        const own = placesIn(model.shapes[operation[side].shape]);
        const places = Object.entries(expected).filter(([, { later }]) => later !== true);
        return places
          .filter(([member, said]) => !own.has(placeOf(member, said)))
          .map(([member]) => `${name}.${member}`);
      }),
    );
    const unexplained = missing.filter((each) => !documentsOfTheirOwn.has(each));
    expect(unexplained).toEqual([]);
  });

  test("writes the public words", () => {
    const workspace = published[1]?.model.shapes["CreateServiceRequest"]?.members;
    expect(workspace?.["LambdaEndpoint"]).toBeDefined();
    expect(published[3]?.model.metadata["signatureVersion"]).toBe("v4");
    expect(published[3]?.model.shapes["PutObjectRequest"]?.members?.["Metadata"]?.locationName).toBe("x-amz-meta-");
  });
});

/** Members that stand one level deeper here: the answer is the document that is put, as one member. */
const documentsOfTheirOwn = new Set([
  "GetBucketNotificationConfiguration.TopicConfigurations",
  "GetBucketNotificationConfiguration.QueueConfigurations",
  "GetBucketNotificationConfiguration.LambdaFunctionConfigurations",
  "GetBucketNotificationConfiguration.EventBridgeConfiguration",
]);
