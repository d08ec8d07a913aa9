import { describe, expect, test } from "vitest";

import { ProxyType } from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { EnvironmentState, NetworkFabricType } from "../../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { localFabric } from "../../../services/refactoring-workspace/fabric/local-fabric.ts";
import { makeApplication, makeEnvironment, makeService, ownerAccount, refusalOf, startHarness } from "../harness.ts";

const { NONE, TRANSIT_GATEWAY } = NetworkFabricType;
const stranger = "111111111111";

describe("createEnvironment", () => {
  test("answers a ready environment, and getEnvironment tells the same with its transit gateway", async () => {
    const { client } = await startHarness();
    const made = await client.createEnvironment({
      name: "Shop move 1",
      description: "Leaving the monolith!",
      networkFabricType: TRANSIT_GATEWAY,
      tags: { team: "move" },
    });
    expect(made.environmentId).toMatch(/^env-[0-9A-Za-z]{10}$/);
    const expected = {
      environmentId: made.environmentId,
      arn: `arn:aws:refactor-spaces:us-east-1:000000000000:environment/${made.environmentId}`,
      name: "Shop move 1",
      description: "Leaving the monolith!",
      networkFabricType: TRANSIT_GATEWAY,
      ownerAccountId: ownerAccount,
      state: EnvironmentState.ACTIVE,
      tags: { team: "move" },
      createdTime: { seconds: 1_767_323_045n },
      lastUpdatedTime: { seconds: 1_767_323_045n },
    };
    expect(made).toMatchObject(expected);
    const told = await client.getEnvironment({ environmentIdentifier: made.environmentId });
    expect(told).toMatchObject(expected);
    expect(told.transitGatewayId).toMatch(/^tgw-[0-9a-f]{17}$/);
    expect(told.error).toBeUndefined();
  });

  test("does not pass tags on to the transit gateway that it makes", async () => {
    const created: unknown[][] = [];
    const fabric = {
      ...localFabric(randomIds, { partition: "aws", region: "us-east-1" }),
      createTransitGateway: async (...of: unknown[]) => {
        created.push(of);
        return "tgw-0123456789abcdef0";
      },
    };
    const { client } = await startHarness({ fabric });
    const tags = { team: "move" };
    const { environmentId } = await client.createEnvironment({
      name: "shop",
      networkFabricType: TRANSIT_GATEWAY,
      tags,
    });
    expect(created).toEqual([[ownerAccount, environmentId]]);
  });

  test("leaves out what was not given, and gives no gateway to a fabric without one", async () => {
    const { client } = await startHarness();
    const { environmentId } = await client.createEnvironment({ name: "bare", networkFabricType: NONE });
    const told = await client.getEnvironment({ environmentIdentifier: environmentId });
    expect([told.description, told.transitGatewayId, told.tags]).toEqual([undefined, undefined, {}]);
  });

  test("refuses, in this order", async () => {
    const { client, clientOf } = await startHarness();
    const create = (more: object, by = client) =>
      refusalOf(by.createEnvironment({ name: "move", networkFabricType: NONE, ...more }));
    expect(await create({ name: "env-1", tags: { "aws:a": "" } }, clientOf(""))).toBe(
      "ACCESS_DENIED: Not authorized to perform refactoring-workspace:CreateEnvironment on *.",
    );
    expect(await create({ name: "env-1", tags: { "aws:a": "" } })).toBe(
      "NAME_RESERVED: The name env-1 begins with env-, which is reserved for ids.",
    );
    expect(await create({ tags: { "AWS:a": "" } })).toBe(
      "TAG_KEY_RESERVED: Tag keys that begin with aws: are reserved.",
    );
    expect(await create({ name: "environment" })).toBe("answered");
  });

  test("takes the same name twice", async () => {
    const { client } = await startHarness();
    expect(await makeEnvironment(client)).not.toBe(await makeEnvironment(client));
  });
});

describe("getEnvironment", () => {
  test("refuses an environment that is not there, then one of another account", async () => {
    const { client, clientOf } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    const get = (id: string) => refusalOf(clientOf(stranger).getEnvironment({ environmentIdentifier: id }));
    expect(await get("env-0000000000")).toBe("RESOURCE_NOT_FOUND: There is no ENVIRONMENT env-0000000000.");
    expect(await get(environmentIdentifier)).toBe(
      `ACCESS_DENIED: Not authorized to perform refactoring-workspace:GetEnvironment on ${environmentIdentifier}.`,
    );
  });
});

describe("deleteEnvironment", () => {
  test("answers DELETING, and the environment is gone", async () => {
    const { client } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    expect(await client.deleteEnvironment({ environmentIdentifier })).toMatchObject({
      environmentId: environmentIdentifier,
      name: "shop move",
      state: EnvironmentState.DELETING,
    });
    const gone = `RESOURCE_NOT_FOUND: There is no ENVIRONMENT ${environmentIdentifier}.`;
    expect(await refusalOf(client.getEnvironment({ environmentIdentifier }))).toBe(gone);
    expect(await refusalOf(client.deleteEnvironment({ environmentIdentifier }))).toBe(gone);
    expect((await client.listEnvironments({})).environmentSummaryList).toEqual([]);
  });

  test("refuses an environment that holds an application, and one of another account", async () => {
    const { client, clientOf } = await startHarness();
    const { environmentIdentifier, applicationIdentifier } = await makeApplication(client);
    expect(await refusalOf(clientOf(stranger).deleteEnvironment({ environmentIdentifier }))).toMatch(/^ACCESS_DENIED/);
    expect(await refusalOf(client.deleteEnvironment({ environmentIdentifier }))).toBe(
      `RESOURCE_IN_USE: The ENVIRONMENT ${environmentIdentifier} cannot be deleted while there is the application ${applicationIdentifier}.`,
    );
  });

  test("never leaves an application without its environment, whoever wins", async () => {
    const { client } = await startHarness();
    for (let round = 0; round < 10; round++) {
      const environmentIdentifier = await makeEnvironment(client);
      const application = {
        environmentIdentifier,
        name: "shop",
        proxyType: ProxyType.API_GATEWAY,
        vpcId: "vpc-0a1b2c3d",
      };
      const outcomes = await Promise.all([
        refusalOf(client.createApplication(application)),
        refusalOf(client.deleteEnvironment({ environmentIdentifier })),
      ]);
      expect(outcomes.filter((outcome) => outcome === "answered")).toHaveLength(1);
    }
  });
});

describe("listEnvironments", () => {
  test("lists the caller's own by id, page by page", async () => {
    const { client, clientOf } = await startHarness();
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.push(await makeEnvironment(client));
    await makeEnvironment(clientOf(stranger));
    const first = await client.listEnvironments({ maxResults: 3 });
    const second = await client.listEnvironments({ maxResults: 3, nextToken: first.nextToken });
    const ids = [first, second].map((page) => page.environmentSummaryList.map((each) => each.environmentId));
    expect(ids.map((page) => page.length)).toEqual([3, 2]);
    expect(ids.flat()).toEqual(made.toSorted());
    expect(second.nextToken).toBeUndefined();
    expect((await client.listEnvironments({})).environmentSummaryList).toHaveLength(5);
  });

  test("lists what is shared with the caller among its own, for as long as it is", async () => {
    const { client, clientOf } = await startHarness();
    const other = clientOf(stranger);
    const own = await makeEnvironment(other);
    const [named, everybodys, denied, applicationsOnly] = [
      await makeEnvironment(client),
      await makeEnvironment(client),
      await makeEnvironment(client),
      await makeEnvironment(client),
    ];
    await makeEnvironment(client);
    const arn = (id: string) => `arn:aws:refactor-spaces:us-east-1:${ownerAccount}:environment/${id}`;
    const to = { Principal: { AWS: stranger } };
    const get = { Effect: "Allow", Action: "refactor-spaces:Get*", Principal: "*" };
    const put = (id: string, ...statements: object[]) =>
      client.putResourcePolicy({ resourceArn: arn(id), policy: JSON.stringify({ Statement: statements }) });
    await put(named, { ...get, ...to });
    await put(everybodys, get);
    await put(denied, get, { ...get, ...to, Effect: "Deny" });
    await put(applicationsOnly, { ...get, ...to, Action: "refactor-spaces:CreateApplication" });
    const list = async (account = other) =>
      (await account.listEnvironments({})).environmentSummaryList.map(({ environmentId }) => environmentId);

    expect(await list()).toEqual([own, named, everybodys].toSorted());
    expect(await list(clientOf("222222222222"))).toEqual([everybodys, denied].toSorted());
    expect(await list(client)).toHaveLength(5);
    const pages: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await other.listEnvironments({ maxResults: 1, ...(nextToken !== undefined && { nextToken }) });
      pages.push(...page.environmentSummaryList.map(({ environmentId }) => environmentId));
      ({ nextToken } = page);
    } while (nextToken !== undefined);
    expect(pages).toEqual([own, named, everybodys].toSorted());

    await put(named, { ...get, Principal: { AWS: "333333333333" } });
    expect(await list()).toEqual([own, everybodys].toSorted());
    await client.deleteResourcePolicy({ identifier: arn(everybodys) });
    expect(await list()).toEqual([own]);
    await client.deleteEnvironment({ environmentIdentifier: denied });
    expect(await list(clientOf("222222222222"))).toEqual([]);
  });

  test("refuses a token of another caller, of another listing, of nobody, and an old one", async () => {
    const { client, clientOf, clock } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    await makeEnvironment(client);
    const { nextToken } = await client.listEnvironments({ maxResults: 1 });
    const refusal = "INVALID_PAGE_TOKEN: The value at NextToken is not a token of this listing.";
    expect(await refusalOf(clientOf(stranger).listEnvironments({ nextToken }))).toBe(refusal);
    expect(await refusalOf(client.listEnvironmentVpcs({ environmentIdentifier, nextToken }))).toBe(refusal);
    expect(await refusalOf(client.listEnvironments({ nextToken: "abcd" }))).toBe(refusal);
    expect(await refusalOf(client.listEnvironments({ nextToken }))).toBe("answered");
    clock.advance(24 * 60 * 60 * 1000);
    expect(await refusalOf(client.listEnvironments({ nextToken }))).toBe(refusal);
  });
});

describe("listEnvironmentVpcs", () => {
  test("lists each VPC of the services once, for as long as one stands in it", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const { environmentIdentifier } = place;
    const make = (vpcId: string) =>
      client.createService({
        ...place,
        name: "monolith",
        endpointType: ServiceEndpointType.URL,
        urlEndpoint: { url: "http://127.0.0.1" },
        vpcId,
      });
    const first = await make("vpc-0000000b");
    await make("vpc-0000000b");
    const third = await make("vpc-0000000a");
    await makeService(client, place, "http://127.0.0.1");
    const list = async () => (await client.listEnvironmentVpcs({ environmentIdentifier })).environmentVpcList;
    expect(await list()).toMatchObject([
      {
        vpcId: "vpc-0000000a",
        environmentId: environmentIdentifier,
        accountId: ownerAccount,
        cidrBlocks: ["10.0.0.0/8"],
      },
      { vpcId: "vpc-0000000b", createdTime: { seconds: 1_767_323_045n } },
    ]);
    await client.deleteService({ ...place, serviceIdentifier: first.serviceId });
    await client.deleteService({ ...place, serviceIdentifier: third.serviceId });
    expect((await list()).map((vpc) => vpc.vpcId)).toEqual(["vpc-0000000b"]);
  });
});
