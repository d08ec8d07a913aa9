import { getOption } from "@bufbuild/protobuf";
import type { DescService } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { http } from "../../gen/quartet/traits/v1/binding_pb.ts";
import { checkRoutes } from "../../services/kit/contract/routes.ts";
import { ownOperations } from "./differences.ts";
import operations from "./operations.json" with { type: "json" };

/** One operation of the public API model: its request line, and whether the documents leave it unnamed. */
interface Operation {
  readonly method: string;
  readonly uri: string;
  readonly status?: number;
  readonly beyondSpec?: boolean;
}

const services: Readonly<Record<string, DescService>> = {
  "customer-profile": CustomerProfileService,
  "refactoring-workspace": RefactoringWorkspaceService,
  "event-bus": EventBusService,
  "object-storage": ObjectStorageService,
};

/** How many operations the documents name, by API. */
const documented = [
  ["customer-profile", 28],
  ["refactoring-workspace", 23],
  ["event-bus", 55],
  ["object-storage", 96],
] as const;

/** Request lines that differ from the public model on purpose, each with its reason. */
const differences: Readonly<Record<string, string>> = {};

const rows = Object.entries(operations as unknown as Record<string, Record<string, Operation>>).flatMap(
  ([api, named]) => Object.entries(named).map(([name, operation]) => ({ api, name, operation })),
);
const restRows = rows.filter(({ api }) => api !== "event-bus");

const methodOf = (api: string, name: string) => services[api]?.methods.find((method) => method.name === name);

describe("the contract", () => {
  test.each(documented)("lists every documented operation of %s: %i", (api, count) => {
    expect(rows.filter((row) => row.api === api && row.operation.beyondSpec !== true)).toHaveLength(count);
  });

  test.each(rows)("$api: $name is an RPC", ({ api, name }) => {
    expect(methodOf(api, name)?.name).toBe(name);
  });

  test("declares no RPC that no API model knows, but for those with a reason", () => {
    const known = new Set(rows.map(({ api, name }) => `${api}.${name}`));
    const declared = Object.entries(services).flatMap(([api, service]) =>
      service.methods.map((method) => `${api}.${method.name}`),
    );
    expect(declared.filter((each) => !known.has(each) && ownOperations[each] === undefined)).toEqual([]);
  });

  test.each(restRows)("$api: $name answers $operation.method $operation.uri", ({ api, name, operation }) => {
    const method = methodOf(api, name);
    const declared = method === undefined ? undefined : getOption(method, http);
    const line =
      differences[`${api}.${name}`] === undefined
        ? `${operation.method} ${operation.uri}`
        : `${declared?.method} ${declared?.path}`;
    expect(`${declared?.method} ${declared?.path}`).toBe(line);
    expect(declared?.status === 0 ? 200 : declared?.status).toBe(operation.status ?? 200);
  });

  test("tells every operation apart and gives every member exactly one place", () => {
    expect(() => checkRoutes(Object.values(services))).not.toThrow();
  });
});
