import { create as message } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ServiceRecordSchema } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { RouteActivationState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType, ServiceState } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { putService } from "../../../services/refactoring-workspace/store/service.ts";
import { makeApplication, makeDefaultRoute, makeService, ownerAccount, refusalOf, startHarness } from "../harness.ts";

const { FUNCTION, URL } = ServiceEndpointType;
const functionArn = "arn:aws:lambda:us-east-1:000000000000:function:orders:live";

const invalid = (problem: string) => `ENDPOINT_INVALID: The endpoint is not valid: ${problem}.`;

describe("createService", () => {
  test("answers a service at a URL, and getService tells the same", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const urlEndpoint = { url: "https://users.example/v1", healthUrl: "https://users.example/health" };
    const made = await client.createService({
      ...place,
      name: "users",
      description: "New users",
      endpointType: URL,
      urlEndpoint,
      vpcId: "vpc-0123456789abcdef0",
      tags: { team: "users" },
    });
    expect(made.serviceId).toMatch(/^svc-[0-9A-Za-z]{10}$/);
    const expected = {
      applicationId: place.applicationIdentifier,
      environmentId: place.environmentIdentifier,
      arn:
        `arn:aws:refactor-spaces:us-east-1:000000000000:environment/${place.environmentIdentifier}` +
        `/application/${place.applicationIdentifier}/service/${made.serviceId}`,
      name: "users",
      description: "New users",
      endpointType: URL,
      urlEndpoint,
      vpcId: "vpc-0123456789abcdef0",
      ownerAccountId: ownerAccount,
      createdByAccountId: ownerAccount,
      state: ServiceState.ACTIVE,
      tags: { team: "users" },
      createdTime: { seconds: 1_767_323_045n },
    };
    expect(made).toMatchObject(expected);
    expect(made.functionEndpoint).toBeUndefined();
    expect(await client.getService({ ...place, serviceIdentifier: made.serviceId })).toMatchObject(expected);
  });

  test("answers a function", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const endpoint = { endpointType: FUNCTION, functionEndpoint: { arn: functionArn } };
    const made = await client.createService({ ...place, name: "orders", ...endpoint });
    expect(made).toMatchObject(endpoint);
    expect([made.urlEndpoint, made.vpcId, made.description]).toEqual([undefined, undefined, undefined]);
  });

  test("refuses, in this order", async () => {
    const { client, clientOf } = await startHarness();
    const place = await makeApplication(client);
    const urlEndpoint = { url: "http://127.0.0.1" };
    const functionEndpoint = { arn: functionArn };
    const create = (more: object, by = client) =>
      refusalOf(by.createService({ ...place, name: "users", endpointType: URL, ...more }));
    const missing = { applicationIdentifier: "app-0000000000" };

    expect(await create({ name: "svc-1", tags: { "aws:a": "" } })).toBe(
      "NAME_RESERVED: The name svc-1 begins with svc-, which is reserved for ids.",
    );
    expect(await create({ tags: { "aws:a": "" } })).toBe(
      "TAG_KEY_RESERVED: Tag keys that begin with aws: are reserved.",
    );
    expect(await create({ functionEndpoint })).toBe(invalid("FunctionEndpoint is given for the type URL"));
    expect(await create(missing)).toBe(invalid("UrlEndpoint is missing for the type URL"));
    const asFunction = { endpointType: FUNCTION, ...missing };
    expect(await create({ ...asFunction, urlEndpoint })).toBe(invalid("UrlEndpoint is given for the type FUNCTION"));
    expect(await create(asFunction)).toBe(invalid("FunctionEndpoint is missing for the type FUNCTION"));
    expect(await create({ urlEndpoint: { url: "http://a:0" } })).toBe(invalid("Url names port 0"));
    expect(await create({ urlEndpoint: { url: "http://a:99999" } })).toBe(invalid("Url is not a URL"));
    expect(await create({ urlEndpoint: { url: "http://me:pw@a" } })).toBe(invalid("Url carries a user name"));
    expect(await create({ urlEndpoint: { url: "http://a#b" } })).toBe(invalid("Url has a fragment"));
    expect(await create({ urlEndpoint: { ...urlEndpoint, healthUrl: "http://a#b" } })).toBe(
      invalid("HealthUrl has a fragment"),
    );
    expect(await create({ urlEndpoint, ...missing })).toBe(
      "RESOURCE_NOT_FOUND: There is no APPLICATION app-0000000000.",
    );
    expect(await create({ urlEndpoint }, clientOf("111111111111"))).toMatch(/^ACCESS_DENIED: /);
    expect(await create({ urlEndpoint })).toBe("answered");
  });
});

describe("deleteService", () => {
  test("answers DELETING, and the service is gone", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const serviceIdentifier = await makeService(client, place, "http://127.0.0.1");
    expect(await client.deleteService({ ...place, serviceIdentifier })).toMatchObject({
      serviceId: serviceIdentifier,
      name: "monolith",
      state: ServiceState.DELETING,
    });
    const gone = `RESOURCE_NOT_FOUND: There is no SERVICE ${serviceIdentifier}.`;
    expect(await refusalOf(client.deleteService({ ...place, serviceIdentifier }))).toBe(gone);
    expect(await refusalOf(client.getService({ ...place, serviceIdentifier }))).toBe(gone);
  });

  test("refuses a service that a route leads to, active or not", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const serviceIdentifier = await makeService(client, place, "http://127.0.0.1");
    const routeId = await makeDefaultRoute(client, place, serviceIdentifier, RouteActivationState.INACTIVE);
    expect(await refusalOf(client.deleteService({ ...place, serviceIdentifier }))).toBe(
      `RESOURCE_IN_USE: The SERVICE ${serviceIdentifier} cannot be deleted while there is the route ${routeId}.`,
    );
  });
});

describe("listServices", () => {
  test("lists an application's services by id, page by page", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const made: string[] = [];
    for (let count = 0; count < 3; count++) made.push(await makeService(client, place, "http://127.0.0.1"));
    const first = await client.listServices({ ...place, maxResults: 2 });
    const second = await client.listServices({ ...place, maxResults: 2, nextToken: first.nextToken });
    const ids = [first, second].map((page) => page.serviceSummaryList.map((each) => each.serviceId));
    expect(ids.map((page) => page.length)).toEqual([2, 1]);
    expect(ids.flat()).toEqual(made.toSorted());
  });

  test("refuses more services than an application may hold", async () => {
    const { client, store } = await startHarness();
    const place = await makeApplication(client);
    const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = place;
    await store.transact((transaction) => {
      for (let count = 0; count < 499; count++) {
        const serviceId = `svc-${String(count).padStart(10, "0")}`;
        putService(transaction, message(ServiceRecordSchema, { environmentId, applicationId, serviceId }));
      }
    });
    await makeService(client, place, "http://127.0.0.1");
    await expect(makeService(client, place, "http://127.0.0.1")).rejects.toThrow(
      `The quota services-per-application of refactor-spaces is reached: APPLICATION ${place.applicationIdentifier} holds 500.`,
    );
  });
});
