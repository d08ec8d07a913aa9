/**
 * Each record of the event bus is damaged in turn, one of each table, and the service started on it: it must start, and
 * everybody but the owner of the record must be served as before. See test/support/damage-campaign.ts.
 */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, onTestFinished, test } from "vitest";

import { ApiDestinationHttpMethod } from "../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionAuthorizationType } from "../../gen/quartet/eventbus/v1/connection_pb.ts";
import { globalEndpoints, layout, streamRecords } from "../../services/event-bus/store/layout.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Campaign, CampaignService } from "../support/damage-campaign.ts";
import { outcomesOf, runCampaign } from "../support/damage-campaign.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { EventBusClient, Harness } from "./harness.ts";
import { ownerAccount, startHarness } from "./harness.ts";

const other = "111111111111";
const partners = new Map([[other, "acme"]]);
const source = "aws.partner/acme/shop";
const pattern = '{"source":["shop"]}';
const sale = (eventBusName: string) => ({ source: "shop", detailType: "Sale", detail: '{"key":"a"}', eventBusName });

const deliveryStreams = {
  declared: [{ account: ownerAccount, name: "sales", bucket: "b", prefix: "", bytesMax: 1_000, ageMsMax: 3_600_000 }],
  put: () => Promise.resolve(),
};

/** Buses, rules and targets of one account, and what they lead to; `url` answers as its path says. */
const fillAccount = async (client: EventBusClient, account: string, url: string): Promise<void> => {
  const { connectionArn } = await client.createConnection({
    name: "shop",
    authorizationType: ConnectionAuthorizationType.API_KEY,
    authParameters: { apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-1" } },
  });
  const arns: string[] = [];
  for (const name of ["taken", "gone", "later"]) {
    const invocationEndpoint = `${url}/${account}/${name}`;
    const httpMethod = ApiDestinationHttpMethod.POST;
    const made = await client.createApiDestination({ name, connectionArn, invocationEndpoint, httpMethod });
    arns.push(made.apiDestinationArn);
  }
  const [taken = "", gone = "", later = ""] = arns;
  await client.createEventBus({ name: "orders" });
  await client.createEventBus({ name: "sealed", kmsKeyIdentifier: "key" });
  for (const eventBusName of ["default", "orders", "sealed"]) {
    await client.putRule({ name: "all", eventBusName, eventPattern: pattern });
    const orderedDelivery = { keyPath: "$.detail.key" };
    const targets = [
      { id: "gone", arn: gone },
      { id: "later", arn: later },
      { id: "ordered", arn: later, orderedDelivery },
      { id: "taken", arn: taken },
    ];
    await client.putTargets({ rule: "all", eventBusName, targets });
  }
  await client.putRule({ name: "tick", scheduleExpression: "rate(1 minute)" });
  await client.putTargets({ rule: "tick", targets: [{ id: "taken", arn: taken }] });
  const bus = `arn:aws:events:us-east-1:${account}:event-bus/default`;
  await client.createArchive({ archiveName: "sales", eventSourceArn: bus });
  await client.startSchemaDiscovery({});
};

/** What both accounts ask: most that reads, and what changes something in a way that can be repeated. */
const callsOf = (client: EventBusClient, account: string): Record<string, () => Promise<unknown>> => ({
  putEvents: async () => {
    const entries = ["default", "orders", "sealed"].map((name) => sale(name));
    const { failedEntryCount } = await client.putEvents({ entries });
    if (failedEntryCount !== 0) throw new Error("an event was not put");
  },
  describeEventBus: () => client.describeEventBus({ name: "orders" }),
  listEventBuses: () => client.listEventBuses({ limit: 1 }),
  putRule: () => client.putRule({ name: "all", eventBusName: "orders", eventPattern: pattern }),
  describeRule: () => client.describeRule({ name: "all", eventBusName: "orders" }),
  listRules: () => client.listRules({ eventBusName: "orders" }),
  listTargetsByRule: () => client.listTargetsByRule({ rule: "all" }),
  removeTargets: () => client.removeTargets({ rule: "all", ids: ["taken"] }),
  listConnections: () => client.listConnections({}),
  updateConnection: () => client.updateConnection({ name: "shop", description: "the shop" }),
  listApiDestinations: () => client.listApiDestinations({}),
  listArchives: () => client.listArchives({}),
  updateArchive: () => client.updateArchive({ archiveName: "sales", description: "all of them" }),
  listReplays: () => client.listReplays({}),
  listDeadLetters: () => client.listDeadLetters({}),
  listDeadLetterGroups: () => client.listDeadLetterGroups({}),
  listDeadLetterRedrives: () => client.listDeadLetterRedrives({}),
  startDeadLetterRedrive: () => client.startDeadLetterRedrive({ redriveName: "another" }),
  listEndpoints: () => client.listEndpoints({}),
  listEventSources: () => client.listEventSources({}),
  discoverSchemas: () => client.discoverSchemas({}),
  createEventBus: () => client.createEventBus({ name: `new-${account}` }),
  deleteEventBus: () => client.deleteEventBus({ name: `new-${account}` }),
});

const mayBeEmpty = ["sweeps", "job_bodies", "jobs_leased", "jobs_new"];

test("no damaged record keeps the service from starting, or other accounts from being served", async () => {
  const statuses: Readonly<Record<string, number>> = { gone: 404, later: 503 };
  const till = await startHttpReceiver(({ url }) => ({ status: statuses[url.split("/").at(-1) ?? ""] ?? 200 }));
  onTestFinished(() => till.close());
  const fill: Campaign["fill"] = async (noteOwn) => {
    const directory = await temporaryDirectory();
    const harness = await startHarness({ directory, partners, deliveryStreams });
    const { store, app, clock, client, clientOf } = harness;
    await clientOf(other).createPartnerEventSource({ name: source, account: ownerAccount });
    await store.transact((transaction) => {
      transaction.put(globalEndpoints, [ownerAccount, "shop"], { name: "shop" });
      transaction.put(streamRecords, [ownerAccount, "sales", clock.now(), "r"], { data: Buffer.from("{}\n") });
    });
    for (const account of [ownerAccount, other]) {
      await fillAccount(clientOf(account), account, till.url);
      const entries = ["default", "orders", "sealed"].map((name) => ({ ...sale(name), deduplicationId: "first" }));
      await clientOf(account).putEvents({ entries });
      await app.jobs.idle();
      await app.schemas.flush();
      if (account === other) continue;
      await client.startDeadLetterRedrive({ redriveName: "again" });
      await startReplay(harness);
      await noteOwn(store);
    }
    await harness.stop();
    return directory;
  };
  const start = async (directory: string, log: Logger): Promise<CampaignService> => {
    const clock = new FakeClock();
    const harness = await startHarness({ directory, clock, log, partners, deliveryStreams });
    const before = till.received.length;
    return {
      call: (tenant) => {
        const account = tenant === "own" ? ownerAccount : other;
        return outcomesOf(callsOf(harness.clientOf(account), account));
      },
      passSecond: async () => {
        clock.advance(1_000);
        await harness.app.jobs.idle();
      },
      undone: () => {
        const delivered = till.received.slice(before).filter(({ url }) => url === `/${other}/taken`);
        return delivered.length >= 3 ? [] : [`${delivered.length} of the other tenant's events were delivered`];
      },
      stop: harness.stop,
    };
  };
  const { problems, cases } = await runCampaign({ layout, mayBeEmpty, fill, start });
  expect(problems).toEqual([]);
  expect(cases).toBeGreaterThan(layout.length);
});

const startReplay = ({ client, clock }: Harness): Promise<unknown> =>
  client.startReplay({
    replayName: "again",
    eventSourceArn: `arn:aws:events:us-east-1:${ownerAccount}:archive/sales`,
    eventStartTime: timestampFromMs(clock.now() - 3_600_000),
    eventEndTime: timestampFromMs(clock.now() + 1),
    destination: { arn: `arn:aws:events:us-east-1:${ownerAccount}:event-bus/default` },
  });
