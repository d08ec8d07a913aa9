import { describe, expect, test } from "vitest";

import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { NoticeService } from "../../../gen/quartet/test/gateway/v1/notice_service_pb.ts";
import {
  CreateReaderRequestSchema,
  ReaderKindSchema,
  TagMapSchema,
} from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import {
  BookClassSchema,
  LabelSchema,
  ListBooksResponseSchema,
  PutBookRequestSchema,
  ShelfRulesSchema,
  ShelfService,
} from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import {
  fieldContract,
  isWrapper,
  messageContract,
  methodContract,
  serviceApi,
} from "../../../services/kit/contract/contract.ts";
import { parsePathTemplate } from "../../../services/kit/contract/path-template.ts";
import { enumSpellings } from "../../../services/kit/contract/spellings.ts";

describe("field contracts", () => {
  test("each placing trait gives its place", () => {
    const { field } = PutBookRequestSchema;
    expect(fieldContract(field.shelf).location).toEqual({ kind: "label" });
    expect(fieldContract(field.bookClass).location).toEqual({ kind: "header", name: "x-svc-book-class" });
    expect(fieldContract(field.metadata).location).toEqual({ kind: "prefixHeaders", prefix: "x-svc-meta-" });
    expect(fieldContract(field.body).location).toEqual({ kind: "payload" });
    expect(fieldContract(ListBooksResponseSchema.field.isTruncated).location).toEqual({ kind: "body" });
  });

  test("a member is found by its wire name, public name, lowerCamel and snake_case", () => {
    const contract = messageContract(CreateReaderRequestSchema);
    const found = ["DefaultExpirationDays", "defaultExpirationDays", "default_expiration_days"].map(
      (name) => contract.findMember(name)?.desc.name,
    );
    expect(found).toEqual(["default_expiration_days", "default_expiration_days", "default_expiration_days"]);
    expect(contract.findMember("LambdaEndpoint")?.desc.name).toBe("function_endpoint");
    expect(contract.findMember("FunctionEndpoint")?.desc.name).toBe("function_endpoint");
    expect(contract.findMember("ReaderName")).toBeUndefined();
  });

  test("constraints and XML facts are read from traits", () => {
    const name = fieldContract(CreateReaderRequestSchema.field.readerName);
    expect(name.constraints).toMatchObject({ isRequired: true, lengthMin: 1, lengthMax: 8 });
    expect(fieldContract(ShelfRulesSchema.field.rules).xml.isFlattened).toBe(true);
    expect(fieldContract(LabelSchema.field.kind).xml.isAttribute).toBe(true);
    expect(fieldContract(LabelSchema.field.kind).wireName).toBe("xsi:type");
  });
});

describe("message, enum and service contracts", () => {
  test("a wrapper knows the field that it wraps", () => {
    expect(isWrapper(TagMapSchema)).toBe(true);
    expect(messageContract(TagMapSchema).wrapped?.desc.name).toBe("tags");
    expect(messageContract(ListBooksResponseSchema).wrapped).toBeUndefined();
    expect(messageContract(ListBooksResponseSchema).xmlRoot).toBe("ListBooksResult");
  });

  test("enum values have a documented and a public spelling, and none for the zero value", () => {
    expect(enumSpellings(ReaderKindSchema).values).toEqual([
      { number: 1, wireValue: "FUNCTION", publicValue: "LAMBDA" },
      { number: 2, wireValue: "URL", publicValue: "URL" },
    ]);
    expect(enumSpellings(ReaderKindSchema).findByText("LAMBDA")?.number).toBe(1);
    expect(enumSpellings(BookClassSchema).findByText("svc:lock")?.number).toBe(2);
    expect(enumSpellings(BookClassSchema).findByNumber(0)).toBeUndefined();
  });

  test("a service names its API, and its methods their routes", () => {
    expect(serviceApi(NoticeService)).toEqual({
      name: "event-bus",
      protocol: Protocol.TARGET_JSON,
      targetPrefix: "EventBus",
      isFallback: false,
      hasVirtualHosts: false,
      forwardedHeaders: ["x-svc-revision"],
      unofferedSubresources: [],
      version: "",
      xmlNamespace: "",
      hasAnonymousCallers: false,
    });
    const copy = methodContract(ShelfService.method.copyBook).http;
    expect(copy).toMatchObject({ method: "PUT", status: 200, requiredHeaders: ["x-svc-copy-source"] });
    expect(methodContract(ShelfService.method.deleteBook).http?.status).toBe(204);
  });
});

describe("path templates", () => {
  test("a template is taken apart into segments and query", () => {
    expect(parsePathTemplate("/{Shelf}/{Book+}?list-type=2&rules")).toMatchObject({
      segments: [
        { kind: "label", name: "Shelf" },
        { kind: "greedy", name: "Book" },
      ],
      query: [
        { name: "list-type", value: "2" },
        { name: "rules", value: undefined },
      ],
      labels: ["Shelf", "Book"],
    });
    expect(parsePathTemplate("/").segments).toEqual([]);
  });

  test.each([
    // template, what is wrong in it
    ["things", "does not begin with a slash"],
    ["/{Key+}/more", "a greedy label must be the last"],
    ["/{A}/{A}", "names a label twice"],
    ["/a{B}", 'segment "a{B}" is neither a literal nor a label'],
    ["//a", 'segment "" is neither a literal nor a label'],
  ])("%s is refused", (template, why) => {
    expect(() => parsePathTemplate(template)).toThrow(`path template "${template}": ${why}`);
  });
});
