import { clone, create, setExtension } from "@bufbuild/protobuf";
import { MethodDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { CustomerProfileService } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { IdentityService } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { SecurityTokenService } from "../../../gen/quartet/identity/v1/security_token_service_pb.ts";
import {
  DeleteObjectsRequestSchema,
  GetObjectRequestSchema,
  ObjectStorageService,
  PutObjectRequestSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { permission as permissionOption, PermissionSchema } from "../../../gen/quartet/traits/v1/access_pb.ts";
import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { ReadMember } from "../../../services/kit/contract/permissions.ts";
import { elementReader, memberReader, methodPermissions } from "../../../services/kit/contract/permissions.ts";

const services = [
  CustomerProfileService,
  RefactoringWorkspaceService,
  EventBusService,
  ObjectStorageService,
  IdentityService,
  SecurityTokenService,
];
const { putObject, getObject, deleteObjects, listObjectsV2 } = ObjectStorageService.method;

const needed = (method: (typeof ObjectStorageService.methods)[number], read: ReadMember): string[] =>
  methodPermissions(method)
    .permissions.filter((permission) => permission.appliesTo(read))
    .map(({ action, resource }) =>
      [action, ...resource.map((piece) => ("text" in piece ? piece.text : String(read(piece.member))))].join(" "),
    );

describe("methodPermissions", () => {
  test.each(services.flatMap((service) => service.methods))(
    "$name declares a permission on members that it has",
    (method) => {
      expect(methodPermissions(method).permissions.length).toBeGreaterThan(0);
    },
  );

  test("fails for a method that declares none", () => {
    expect(() => methodPermissions(TestService.method.echo)).toThrow("Echo declares no permission");
  });

  // the member that a permission depends on, why the method has no permissions
  test.each([
    ["colour", "PutObjectRequest has no member colour"],
    ["colour_*", "PutObject has no member colour_*"],
  ])("fails for a permission that depends on %s", (when, why) => {
    const proto = clone(MethodDescriptorProtoSchema, putObject.proto);
    const declared = create(PermissionSchema, { action: "PutObject", resource: "{bucket}", when: [when] });
    setExtension(proto.options!, permissionOption, [declared]);
    expect(() => methodPermissions({ ...putObject, proto })).toThrow(why);
  });

  test("knows which members policies can ask for", () => {
    expect(methodPermissions(listObjectsV2).conditions).toEqual([
      { path: "delimiter", key: "delimiter" },
      { path: "max_keys", key: "max-keys" },
      { path: "prefix", key: "prefix" },
    ]);
  });
});

describe("appliesTo", () => {
  // what is given | the permissions that are needed
  test.each([
    [{}, ["PutObject photos / a.txt"]],
    [{ acl: "private" }, ["PutObject photos / a.txt", "PutObjectAcl photos / a.txt"]],
    [{ grantRead: "id=1" }, ["PutObject photos / a.txt", "PutObjectAcl photos / a.txt"]],
    [{ tagging: "a=b" }, ["PutObject photos / a.txt", "PutObjectTagging photos / a.txt"]],
  ])("writing an object with %j needs %j", (members, expected) => {
    const request = create(PutObjectRequestSchema, { bucket: "photos", key: "a.txt", ...members });
    expect(needed(putObject, memberReader(request, PutObjectRequestSchema))).toEqual(expected);
  });

  test("a version has an action of its own", () => {
    const read = (versionId?: string) =>
      memberReader(
        create(GetObjectRequestSchema, { bucket: "photos", key: "a.txt", versionId }),
        GetObjectRequestSchema,
      );
    expect(needed(getObject, read())).toEqual(["GetObject photos / a.txt"]);
    expect(needed(getObject, read("v1"))).toEqual(["GetObjectVersion photos / a.txt"]);
  });

  test("each element of a list is decided on by itself", () => {
    const request = create(DeleteObjectsRequestSchema, {
      bucket: "photos",
      delete: { objects: [{ key: "a.txt" }, { key: "b.txt", versionId: "v1" }] },
    });
    const whole = memberReader(request, DeleteObjectsRequestSchema);
    const list = methodPermissions(deleteObjects).permissions[0]?.list ?? "";
    expect(list).toBe("delete.objects");
    const desc = DeleteObjectsRequestSchema.field.delete.message?.field["objects"]?.message;
    if (desc === undefined) throw new Error("the list has no elements");
    const perElement = (request.delete?.objects ?? []).map((element) =>
      needed(deleteObjects, elementReader(whole, list, element, desc)),
    );
    expect(perElement).toEqual([["DeleteObject photos / a.txt"], ["DeleteObjectVersion photos / b.txt"]]);
  });
});
