import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { Application } from "../../../services/refactoring-workspace/application.ts";
import { guard } from "../../../services/refactoring-workspace/access/guard.ts";
import { handlers } from "../../../services/refactoring-workspace/service.ts";
import { anonymousCaller, rootCaller } from "../../../services/kit/identity/caller.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { makeEnvironment, ownerAccount, startHarness } from "../harness.ts";
import { silentLogger } from "../../support/silent-logger.ts";

type AnyHandler = (request: unknown, context: CallContext<Application>) => Promise<unknown>;

const arnPrefix = { partition: "aws", service: "refactor-spaces", region: "us-east-1" };
const stranger = "111111111111";
const environmentMembers = ["environment_identifier", "identifier", "resource_arn"];

/** An application of which only the given members may be read. */
const untouchable = (readable: Partial<Application> = {}) =>
  new Proxy(readable as Application, {
    get: (target, name) => {
      if (Object.hasOwn(target, name)) return Reflect.get(target, name) as unknown;
      throw new Error(`the handler was reached: it read ${String(name)}`);
    },
  });

const contextOf = (method: DescMethod, app = untouchable(), caller = anonymousCaller) =>
  ({ app, method, caller, log: silentLogger }) as unknown as CallContext<Application>;

const refusalOf = async (request: Message, context: CallContext<Application>): Promise<string> => {
  const handler = (handlers as unknown as Record<string, AnyHandler>)[context.method.localName];
  const error = await handler?.(request, context).catch((thrown: unknown) => thrown);
  return `${context.method.name}: ${(error as Error).message}`;
};

test("no operation is reached by a caller without an account", async () => {
  const outcomes: string[] = [];
  for (const method of RefactoringWorkspaceService.methods)
    outcomes.push(await refusalOf(create(method.input), contextOf(method)));
  expect(outcomes).toEqual(
    RefactoringWorkspaceService.methods.map(
      ({ name }) => `${name}: Not authorized to perform refactoring-workspace:${name} on *.`,
    ),
  );
  expect(outcomes).toHaveLength(26);
});

describe("of an environment of another account", () => {
  test("no operation is reached", async () => {
    const { client, store } = await startHarness();
    const environmentId = await makeEnvironment(client);
    const arn = `arn:aws:refactor-spaces:us-east-1:${ownerAccount}:environment/${environmentId}`;
    const named = { environmentIdentifier: environmentId, identifier: arn, resourceArn: arn };
    const outcomes: string[] = [];
    for (const method of RefactoringWorkspaceService.methods) {
      if (!method.input.fields.some(({ name }) => environmentMembers.includes(name))) continue;
      // The environment's record and its policy are all that is read.
      const context = contextOf(method, untouchable({ store, arnPrefix }), rootCaller(stranger));
      outcomes.push(await refusalOf(Object.assign(create(method.input), named), context));
    }
    const denied = (name: string) =>
      `${name}: Not authorized to perform refactoring-workspace:${name} on ${environmentId}.`;
    const concealed = (name: string) => `${name}: There is no ENVIRONMENT ${arn}.`;
    expect(outcomes).toEqual([
      denied("CreateApplication"),
      denied("CreateRoute"),
      denied("CreateService"),
      denied("DeleteApplication"),
      denied("DeleteEnvironment"),
      denied("DeleteResourcePolicy"),
      denied("DeleteRoute"),
      denied("DeleteService"),
      denied("ExplainRoute"),
      denied("GetApplication"),
      denied("GetEnvironment"),
      denied("GetResourcePolicy"),
      denied("GetRoute"),
      denied("GetService"),
      denied("ListApplications"),
      denied("ListEnvironmentVpcs"),
      denied("ListRoutes"),
      denied("ListServices"),
      concealed("ListTagsForResource"),
      denied("PutResourcePolicy"),
      denied("SetRouteTraffic"),
      concealed("TagResource"),
      concealed("UntagResource"),
      denied("UpdateRoute"),
    ]);
  });

  test("the tags of what it holds look as if that did not exist", async () => {
    const { client, store } = await startHarness();
    const environmentId = await makeEnvironment(client);
    const resourceArn = `arn:aws:refactor-spaces:us-east-1:${ownerAccount}:environment/${environmentId}/application/app-0000000000`;
    const method = RefactoringWorkspaceService.method.listTagsForResource;
    const context = contextOf(method, untouchable({ store, arnPrefix }), rootCaller(stranger));
    expect(await refusalOf(create(method.input, { resourceArn }), context)).toBe(
      `ListTagsForResource: There is no APPLICATION ${resourceArn}.`,
    );
  });
});

test("an environment that does not exist is left to the handler, and its own is admitted", async () => {
  const { client, store } = await startHarness();
  const { getEnvironment } = RefactoringWorkspaceService.method;
  const context = contextOf(getEnvironment, untouchable({ store, arnPrefix }), rootCaller(ownerAccount));
  for (const environmentIdentifier of [await makeEnvironment(client), "env-0000000000"])
    expect(await guard(create(getEnvironment.input, { environmentIdentifier }), context)).toMatchObject({
      accountId: ownerAccount,
    });
});
