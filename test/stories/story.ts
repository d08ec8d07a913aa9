import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { CreateDomainCommand, CreateProfileCommand, SearchProfilesCommand } from "@aws-sdk/client-customer-profiles";
import {
  CreateApiDestinationCommand,
  CreateConnectionCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from "@aws-sdk/client-eventbridge";
import {
  CreateApplicationCommand,
  CreateEnvironmentCommand,
  CreateRouteCommand,
  CreateServiceCommand,
  GetApplicationCommand,
} from "@aws-sdk/client-migration-hub-refactor-spaces";
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";

import { createDeliveryRole } from "../support/delivery-role.ts";
import { eventually } from "../support/eventually.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import type { System } from "../support/system.ts";

/** Told after each step: what was done and the heart of its answer. */
export type Tell = (step: string, answer: unknown) => void;

const root = join(import.meta.dirname, "..", "..");
/** Real input: files of this repository. */
const files = ["LICENSE", "package.json", "proto/quartet/traits/v1/fault.proto"];

/**
 * One story through all four services with the official SDK clients: files become objects, their notifications become
 * events that reach an HTTP endpoint, a customer is made and found by phone, and a request is routed through an
 * application. Each answer is checked; the first wrong one throws.
 */
export const playStory = async (
  system: System,
  endpoint: HttpReceiver,
  backend: HttpReceiver,
  tell: Tell,
): Promise<void> => {
  const { objectStorage, eventBus, customerProfile, workspace } = system.clients;

  const bucket = "documents";
  const created = await objectStorage.send(new CreateBucketCommand({ Bucket: bucket }));
  assert.equal(created.Location, `/${bucket}`);
  tell("object storage: create a bucket", { Location: created.Location });

  const connection = await eventBus.send(
    new CreateConnectionCommand({
      Name: "endpoint-key",
      AuthorizationType: "API_KEY",
      AuthParameters: { ApiKeyAuthParameters: { ApiKeyName: "x-endpoint-key", ApiKeyValue: "a key for the story" } },
    }),
  );
  assert.equal(connection.ConnectionState, "AUTHORIZED");
  tell("event bus: create a connection", { ConnectionState: connection.ConnectionState });

  const destination = await eventBus.send(
    new CreateApiDestinationCommand({
      Name: "endpoint",
      ConnectionArn: connection.ConnectionArn,
      HttpMethod: "POST",
      InvocationEndpoint: `${endpoint.url}/objects`,
    }),
  );
  assert.equal(destination.ApiDestinationState, "ACTIVE");
  tell("event bus: create an API destination", { ApiDestinationState: destination.ApiDestinationState });

  const rule = await eventBus.send(
    new PutRuleCommand({
      Name: "documents-created",
      EventPattern: JSON.stringify({
        source: ["aws.s3"],
        "detail-type": ["Object Created"],
        detail: { bucket: { name: [bucket] } },
      }),
    }),
  );
  assert.match(rule.RuleArn ?? "", /rule\/documents-created$/);
  tell("event bus: put a rule", { RuleArn: rule.RuleArn });

  const roleArn = await createDeliveryRole({ endpoint: system.installation.gatewayUrl, credentials: system });
  const targets = await eventBus.send(
    new PutTargetsCommand({
      Rule: "documents-created",
      Targets: [{ Id: "endpoint", Arn: destination.ApiDestinationArn, RoleArn: roleArn }],
    }),
  );
  assert.equal(targets.FailedEntryCount, 0);
  tell("event bus: put its target", { FailedEntryCount: targets.FailedEntryCount });

  await objectStorage.send(
    new PutBucketNotificationConfigurationCommand({
      Bucket: bucket,
      NotificationConfiguration: { EventBridgeConfiguration: {} },
    }),
  );
  tell("object storage: send notifications to the event bus", { Bucket: bucket });

  for (const file of files) {
    const body = readFileSync(join(root, file));
    const put = await objectStorage.send(
      new PutObjectCommand({ Bucket: bucket, Key: file, Body: body, Metadata: { origin: "repository" } }),
    );
    assert.match(put.ETag ?? "", /^"[0-9a-f]{32}"$/);
    tell(`object storage: put ${file}`, { ETag: put.ETag, bytes: body.length });
  }

  const listed = await objectStorage.send(new ListObjectsV2Command({ Bucket: bucket, Delimiter: "/" }));
  assert.deepEqual(
    listed.Contents?.map((object) => object.Key),
    ["LICENSE", "package.json"],
  );
  assert.deepEqual(
    listed.CommonPrefixes?.map((prefix) => prefix.Prefix),
    ["proto/"],
  );
  tell("object storage: list with a delimiter", {
    keys: listed.Contents?.map((object) => object.Key),
    prefixes: listed.CommonPrefixes?.map((prefix) => prefix.Prefix),
  });

  const got = await objectStorage.send(new GetObjectCommand({ Bucket: bucket, Key: "LICENSE", Range: "bytes=0-199" }));
  const text = await got.Body?.transformToString();
  assert.equal(text, readFileSync(join(root, "LICENSE"), "utf8").slice(0, 200));
  assert.deepEqual(got.Metadata, { origin: "repository" });
  tell("object storage: get the first 200 bytes", { ContentRange: got.ContentRange, Metadata: got.Metadata });

  const delivered = await eventually(
    () => endpoint.received.length >= files.length && [...endpoint.received],
    `${files.length} events reach ${endpoint.url}`,
  );
  const events = delivered.map(
    (request) => JSON.parse(request.body.toString()) as { detail: { object: { key: string } } },
  );
  assert.deepEqual(events.map((event) => event.detail.object.key).toSorted(), files.toSorted());
  assert.equal(delivered[0]?.headers["x-endpoint-key"], "a key for the story");
  tell(
    "event bus: deliver the notifications to the endpoint",
    events.map((event) => event.detail.object.key).toSorted(),
  );

  await customerProfile.send(new CreateDomainCommand({ DomainName: "shop", DefaultExpirationDays: 365 }));
  const profile = await customerProfile.send(
    new CreateProfileCommand({
      DomainName: "shop",
      FirstName: "Ada",
      LastName: "Nowak",
      PhoneNumber: "+1 555 123 4567",
    }),
  );
  assert.match(profile.ProfileId ?? "", /^[0-9a-f]{32}$/);
  tell("customer profile: create a profile", { ProfileId: profile.ProfileId });
  const found = await customerProfile.send(
    new SearchProfilesCommand({ DomainName: "shop", KeyName: "_phone", Values: ["+15551234567"] }),
  );
  assert.deepEqual(
    found.Items?.map((item) => [item.ProfileId, item.FirstName]),
    [[profile.ProfileId, "Ada"]],
  );
  tell(
    "customer profile: find it by phone",
    found.Items?.map((item) => `${item.FirstName} ${item.LastName}`),
  );

  const environment = await workspace.send(
    new CreateEnvironmentCommand({ Name: "shop-environment", NetworkFabricType: "TRANSIT_GATEWAY" }),
  );
  const application = await workspace.send(
    new CreateApplicationCommand({
      EnvironmentIdentifier: environment.EnvironmentId,
      Name: "shop-application",
      ProxyType: "API_GATEWAY",
      VpcId: "vpc-0123456789abcdef0",
    }),
  );
  const place = { EnvironmentIdentifier: environment.EnvironmentId, ApplicationIdentifier: application.ApplicationId };
  const service = await workspace.send(
    new CreateServiceCommand({
      ...place,
      Name: "backend",
      EndpointType: "URL",
      VpcId: "vpc-0123456789abcdef0",
      UrlEndpoint: { Url: backend.url },
    }),
  );
  tell("workspace: create environment, application and service", [
    environment.EnvironmentId,
    application.ApplicationId,
    service.ServiceId,
  ]);
  const fallback = await workspace.send(
    new CreateRouteCommand({ ...place, ServiceIdentifier: service.ServiceId, RouteType: "DEFAULT" }),
  );
  const orders = await workspace.send(
    new CreateRouteCommand({
      ...place,
      ServiceIdentifier: service.ServiceId,
      RouteType: "URI_PATH",
      UriPathRoute: { SourcePath: "/orders", ActivationState: "ACTIVE", IncludeChildPaths: true, Methods: ["POST"] },
    }),
  );
  tell("workspace: create its routes", [fallback.RouteId, orders.RouteId]);
  const described = await eventually(async () => {
    const answer = await workspace.send(new GetApplicationCommand(place));
    return answer.State === "ACTIVE" && answer;
  }, "the application is active");
  const proxyUrl = (described.ApiGatewayProxy?.ProxyUrl ?? "").replace(/\/$/, "");
  const routed = await fetch(`${proxyUrl}/orders/17?express=1`, { method: "POST", body: "two tickets" });
  assert.equal(routed.status, 201);
  assert.equal(await routed.text(), "ordered: two tickets");
  assert.equal(backend.received.at(-1)?.url, "/17?express=1");
  tell("workspace: route a request through the application", {
    sent: "POST /orders/17?express=1",
    arrived: backend.received.at(-1)?.url,
  });
};
