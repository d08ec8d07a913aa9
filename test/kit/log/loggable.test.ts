import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { EchoRequestSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { loggableRequest } from "../../../services/kit/log/loggable.ts";

describe("a request in a log line", () => {
  test("hides sensitive members at any depth and shows the others", () => {
    const method = EventBusService.method.createConnection;
    const request = create(method.input, {
      name: "crm",
      authParameters: {
        apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "hush" },
        invocationHttpParameters: { headerParameters: [{ key: "x-more", value: "hush", isValueSecret: true }] },
      },
    });
    const shown = loggableRequest(method, request);
    expect(shown).toMatchObject({ name: "crm", authParameters: { apiKeyAuthParameters: { apiKeyValue: "[hidden]" } } });
    expect(JSON.stringify(shown)).not.toContain("hush");
  });

  test("hides the page token of a listing", () => {
    const method = ObjectStorageService.method.listObjectsV2;
    const request = create(method.input, { bucket: "photos", continuationToken: "hush", prefix: "a/" });
    expect(loggableRequest(method, request)).toEqual({ bucket: "photos", continuationToken: "[hidden]", prefix: "a/" });
  });

  test("shows the number of bytes, cuts long texts and lists, and can be written as JSON", () => {
    const request = create(EchoRequestSchema, {
      text: "x".repeat(129),
      labels: Array.from({ length: 9 }, (_, index) => String(index)),
      number: 12n,
      body: new Uint8Array(5),
    });
    expect(loggableRequest(TestService.method.echo, request)).toEqual({
      text: `${"x".repeat(128)}…`,
      labels: ["0", "1", "2", "3", "4", "5", "6", "7", "… 9 in all"],
      number: "12",
      body: "5 bytes",
    });
  });
});
