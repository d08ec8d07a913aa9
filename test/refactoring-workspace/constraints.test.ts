import { describe, expect, test } from "vitest";

import type { WorkspaceClient } from "./harness.ts";
import { refusalOf, startHarness } from "./harness.ts";

const of = (length: number) => "x".repeat(length);
const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
const env = { environmentIdentifier: "env-0000000000" };
const app = { ...env, applicationIdentifier: "app-0000000000" };
const environment = { name: "move", networkFabricType: 1 };
const application = { ...env, name: "shop", proxyType: 1, vpcId: "vpc-0a1b2c3d" };
const service = { ...app, name: "users", endpointType: 2, urlEndpoint: { url: "http://a" } };
const asFunction = (arn: string) => ({ ...app, name: "users", endpointType: 1, functionEndpoint: { arn } });
const lambda = "arn:aws:lambda:us-east-1:000000000000:function:";
const defaultRoute = { ...app, serviceIdentifier: "svc-0000000000", routeType: 1 };
const path = (sourcePath: string, more: object = {}) => ({
  ...defaultRoute,
  routeType: 2,
  uriPathRoute: { sourcePath, activationState: 1, ...more },
});
const arn = "arn:aws:refactor-spaces:us-east-1:000000000000:environment/env-0000000000";
const url = (text: string) => ({ ...service, urlEndpoint: { url: text } });

/** Just inside each limit, and just outside. */
const rows: [operation: keyof WorkspaceClient, inside: object, outside: object][] = [
  ["createEnvironment", { ...environment, name: "abc" }, { ...environment, name: "ab" }],
  ["createEnvironment", { ...environment, name: of(63) }, { ...environment, name: of(64) }],
  ["createEnvironment", { ...environment, name: "A 9_-" }, { ...environment, name: "a.b" }],
  ["createEnvironment", { ...environment, name: "9ab" }, { ...environment, name: "_ab" }],
  ["createEnvironment", environment, { name: "move" }],
  ["createEnvironment", environment, { networkFabricType: 1 }],
  ["createEnvironment", { ...environment, networkFabricType: 2 }, { ...environment, networkFabricType: 3 }],
  ["createEnvironment", { ...environment, description: of(256) }, { ...environment, description: of(257) }],
  ["createEnvironment", { ...environment, description: "a-_ .!*#@'\n9" }, { ...environment, description: "a?" }],
  ["createEnvironment", { ...environment, description: "a" }, { ...environment, description: "" }],
  ["createEnvironment", { ...environment, clientToken: of(64) }, { ...environment, clientToken: of(65) }],
  ["createEnvironment", { ...environment, clientToken: " ~" }, { ...environment, clientToken: "é" }],
  ["createEnvironment", { ...environment, clientToken: "a" }, { ...environment, clientToken: "" }],
  ["createEnvironment", { ...environment, tags: tags(50) }, { ...environment, tags: tags(51) }],
  ["createEnvironment", { ...environment, tags: { [of(128)]: of(256) } }, { ...environment, tags: { [of(129)]: "" } }],
  ["createEnvironment", { ...environment, tags: { "é ü": "" } }, { ...environment, tags: { "": "" } }],
  ["createEnvironment", { ...environment, tags: { a: "" } }, { ...environment, tags: { a: of(257) } }],
  ["getEnvironment", env, { environmentIdentifier: "env-000000000" }],
  ["getEnvironment", { environmentIdentifier: "env-aZ90000000" }, { environmentIdentifier: "app-0000000000" }],
  ["getEnvironment", env, {}],
  ["listEnvironments", { maxResults: 1 }, { maxResults: 0 }],
  ["listEnvironments", { maxResults: 100 }, { maxResults: 101 }],
  ["listEnvironments", { nextToken: of(2048) }, { nextToken: of(2049) }],
  ["listEnvironments", { nextToken: "aZ9/+=" }, { nextToken: "a-b" }],
  ["createApplication", { ...application, vpcId: "vpc-0123456789abcdef0" }, { ...application, vpcId: "vpc-0123" }],
  ["createApplication", application, { ...application, vpcId: "vpc-0A1B2C3D" }],
  ["createApplication", application, { ...application, vpcId: "" }],
  ["createApplication", application, { ...application, proxyType: 0 }],
  [
    "createApplication",
    { ...application, apiGatewayProxy: {} },
    { ...application, apiGatewayProxy: { endpointType: 9 } },
  ],
  [
    "createApplication",
    { ...application, apiGatewayProxy: { stageName: of(128) } },
    { ...application, apiGatewayProxy: { stageName: of(129) } },
  ],
  [
    "createApplication",
    { ...application, apiGatewayProxy: { stageName: "-aZ_9" } },
    { ...application, apiGatewayProxy: { stageName: "a b" } },
  ],
  [
    "createApplication",
    { ...application, apiGatewayProxy: { stageName: "a" } },
    { ...application, apiGatewayProxy: { stageName: "" } },
  ],
  ["createService", service, { ...service, endpointType: 0 }],
  ["createService", url(`http://${of(2041)}`), url(`http://${of(2042)}`)],
  ["createService", url("https://a.b:8443/c/d?e=f&g=h"), url("ftp://a")],
  ["createService", url("http://[::1]:80/"), url("http://a b")],
  ["createService", service, url("http://a.")],
  ["createService", { ...service, vpcId: "vpc-0a1b2c3d" }, { ...service, vpcId: "0a1b2c3d" }],
  ["createService", asFunction(`${lambda}orders`), asFunction(`${lambda}orders:1:2`)],
  ["createService", asFunction(`${lambda}orders:$LATEST`), asFunction("orders")],
  ["createService", asFunction(`${lambda}a-_9:live`), asFunction(lambda)],
  ["createRoute", defaultRoute, { ...defaultRoute, routeType: 0 }],
  ["createRoute", defaultRoute, { ...defaultRoute, serviceIdentifier: "svc-1" }],
  ["createRoute", path(`/${of(2047)}`), path(`/${of(2048)}`)],
  ["createRoute", path("/a/{b.c}/9_:-."), path("/")],
  ["createRoute", path("/a"), path("a")],
  ["createRoute", path("/{a}"), path("/a/")],
  ["createRoute", path("/{a}/b"), path("/a{b}")],
  ["createRoute", path("/a"), path("/a%20b")],
  ["createRoute", path("/a"), path("/a", { activationState: 0 })],
  ["createRoute", path("/a", { methods: [1, 2, 3, 4, 5, 6, 7] }), path("/a", { methods: [8] })],
  [
    "updateRoute",
    { ...app, routeIdentifier: "rte-0000000000", activationState: 2 },
    { ...app, routeIdentifier: "rte-0000000000" },
  ],
  ["updateRoute", { ...app, routeIdentifier: "rte-0000000000", activationState: 1 }, { ...app, activationState: 1 }],
  ["putResourcePolicy", { resourceArn: arn, policy: of(300_000) }, { resourceArn: arn, policy: of(300_001) }],
  ["putResourcePolicy", { resourceArn: arn, policy: "{}" }, { resourceArn: arn, policy: "" }],
  ["getResourcePolicy", { identifier: arn }, { identifier: "env-0000000000" }],
  ["deleteResourcePolicy", { identifier: arn }, { identifier: arn.replace("refactor-spaces", "s3") }],
  ["tagResource", { resourceArn: arn, tags: tags(50) }, { resourceArn: arn, tags: tags(51) }],
  ["tagResource", { resourceArn: arn, tags: tags(1) }, { resourceArn: arn }],
  ["untagResource", { resourceArn: arn, tagKeys: ["a"] }, { resourceArn: arn }],
  ["listTagsForResource", { resourceArn: arn }, {}],
];

describe("the constraints of requests", () => {
  test("take what is just inside and refuse what is just outside", async () => {
    const { client } = await startHarness();
    const call = (operation: keyof WorkspaceClient, request: object) =>
      refusalOf((client[operation] as (init: object) => Promise<unknown>)(request));
    for (const [operation, inside, outside] of rows) {
      const shown = `${operation} ${JSON.stringify(outside).slice(0, 200)}`;
      expect([shown, await call(operation, inside)]).toEqual([
        shown,
        expect.not.stringMatching(/^(INVALID_INPUT|INTERNAL|undefined)/),
      ]);
      expect([shown, await call(operation, outside)]).toEqual([
        shown,
        expect.stringMatching(/^INVALID_INPUT: 1 validation error detected: /),
      ]);
    }
  });

  test("never show a tag", async () => {
    const { client } = await startHarness();
    const refusal = await refusalOf(
      client.createEnvironment({ name: "move", networkFabricType: 1, tags: { a: "secret".repeat(50) } }),
    );
    expect(refusal).toMatch(/^INVALID_INPUT: /);
    expect(refusal).not.toContain("secret");
  });
});
