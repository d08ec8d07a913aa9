import { createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { ErrorReasonSchema } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { FaultRole } from "../../gen/quartet/traits/v1/fault_pb.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import { faultTable } from "../../services/kit/faults/service-error.ts";
import { alice, as, refusalOf, startWithBucket } from "./harness.ts";

const named = (reason: string) => {
  const facts = faultTable(ErrorReasonSchema).findByReason(reason);
  return `${facts?.name} ${facts?.httpStatus}`;
};

describe("the refusals of object storage", () => {
  test("each have all their facts, and every role that the service can meet has one", () => {
    const table = faultTable(ErrorReasonSchema);
    expect(table.domain).toBe("object-storage.quartet");
    expect(table.all().every((facts) => facts.httpStatus >= 300 && facts.message !== "")).toBe(true);
    const { UNSPECIFIED, KEY_PENDING_DELETION } = FaultRole;
    const roles = Object.values(FaultRole).filter((role) => role !== UNSPECIFIED && role <= KEY_PENDING_DELETION);
    expect(roles.map((role) => table.byRole(role).role)).toEqual(roles);
  });

  test("keep the outside names that clients know", () => {
    expect(
      ["NO_SUCH_BUCKET", "NO_SUCH_KEY", "NOT_MODIFIED", "INVALID_RANGE", "PRECONDITION_FAILED", "ENTITY_TOO_SMALL"].map(
        named,
      ),
    ).toEqual([
      "NoSuchBucket 404",
      "NoSuchKey 404",
      "NotModified 304",
      "InvalidRange 416",
      "PreconditionFailed 412",
      "EntityTooSmall 400",
    ]);
  });
});

describe("over gRPC", () => {
  test("objects stream both ways as over Connect, and refusals are the same", async () => {
    const harness = await startWithBucket();
    const transport = createTransport({ address: harness.url, engine: "grpc" });
    onTestFinished(() => transport.close());
    const client = createClient(ObjectStorageService, transport);
    const film = { bucket: "photos", key: "film" };
    const content = Buffer.alloc(1_000_000, "film");
    async function* messages() {
      yield film;
      for (let at = 0; at < content.length; at += 100_000) yield { body: content.subarray(at, at + 100_000) };
    }

    await client.putObject(messages(), as(alice));
    const pieces: Uint8Array[] = [];
    for await (const { body } of client.getObject(film, as(alice))) pieces.push(body);

    expect(Buffer.concat(pieces).equals(content)).toBe(true);
    expect(await refusalOf(client.headObject({ ...film, key: "none" }, as(alice)))).toBe("NO_SUCH_KEY");
  });
});
