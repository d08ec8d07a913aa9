/**
 * Each record of the refactoring workspace is damaged in turn, one of each table, and the service started on it: it
 * must start, and the environments of other accounts must be served as before. See test/support/damage-campaign.ts.
 */
import { expect, test } from "vitest";

import type { Logger } from "../../services/kit/log/log.ts";
import { environmentVpcs, layout } from "../../services/refactoring-workspace/store/layout.ts";
import type { Campaign, CampaignService } from "../support/damage-campaign.ts";
import { outcomesOf, runCampaign } from "../support/damage-campaign.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startBackend } from "./backend.ts";
import type { Harness, Place, WorkspaceClient } from "./harness.ts";
import {
  makeApplication,
  makeDefaultRoute,
  makeService,
  ownerAccount,
  pathRoute,
  proxyUrlOf,
  startHarness,
} from "./harness.ts";

const other = "111111111111";

/** An application of an account, its services and a route. */
interface Filled {
  readonly place: Place;
  readonly serviceId: string;
  readonly routeId: string;
}

const arnOf = (account: string, environment: string): string =>
  `arn:aws:refactor-spaces:us-east-1:${account}:environment/${environment}`;

const fillAccount = async (client: WorkspaceClient, account: string, url: string): Promise<Filled> => {
  const place = await makeApplication(client);
  const serviceId = await makeService(client, place, url);
  await makeDefaultRoute(client, place, serviceId);
  const { routeId } = await client.createRoute({ ...pathRoute(place, serviceId, "/users"), clientToken: "token" });
  const statement = {
    Effect: "Allow",
    Principal: { AWS: "222222222222" },
    Action: ["refactor-spaces:GetEnvironment"],
  };
  const policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
  await client.putResourcePolicy({ resourceArn: arnOf(account, place.environmentIdentifier), policy });
  return { place, serviceId, routeId };
};

const callsOf = (client: WorkspaceClient, account: string, filled: Filled, { workspace }: Harness) => {
  const { place, serviceId, routeId } = filled;
  const { environmentIdentifier } = place;
  const named = { ...place, serviceIdentifier: serviceId };
  return {
    listEnvironments: () => client.listEnvironments({}),
    getEnvironment: () => client.getEnvironment({ environmentIdentifier }),
    listEnvironmentVpcs: () => client.listEnvironmentVpcs({ environmentIdentifier }),
    getResourcePolicy: () => client.getResourcePolicy({ identifier: arnOf(account, environmentIdentifier) }),
    listApplications: () => client.listApplications({ environmentIdentifier }),
    getApplication: () => client.getApplication(place),
    listServices: () => client.listServices(place),
    getService: () => client.getService(named),
    listRoutes: () => client.listRoutes(place),
    getRoute: () => client.getRoute({ ...place, routeIdentifier: routeId }),
    createRoute: () => client.createRoute({ ...pathRoute(place, serviceId, "/orders"), clientToken: "another" }),
    createEnvironment: () => client.createEnvironment({ name: "second", networkFabricType: 2, clientToken: "second" }),
    askProxy: async () => {
      const { pathname } = new URL(await proxyUrlOf(client, place));
      const answer = await fetch(`${workspace.proxy.url}${pathname}/users`);
      if (answer.status !== 200) throw new Error(`the proxy answers ${answer.status}`);
    },
    deleteRoute: () => client.deleteRoute({ ...place, routeIdentifier: routeId }),
  };
};

const mayBeEmpty = [
  "job_bodies",
  "job_states",
  "jobs_scheduled",
  "jobs_ready",
  "jobs_leased",
  "jobs_expiring",
  "jobs_new",
];

test("no damaged record keeps the service from starting, or other accounts from being served", async () => {
  const backend = await startBackend("backend");
  const filled = new Map<string, Filled>();
  const fill: Campaign["fill"] = async (noteOwn) => {
    const directory = await temporaryDirectory();
    const harness = await startHarness({ directory });
    for (const account of [ownerAccount, other]) {
      filled.set(account, await fillAccount(harness.clientOf(account), account, backend.url));
      if (account === other) continue;
      const { environmentIdentifier } = (filled.get(account) as Filled).place;
      const vpc = { serviceCount: 1, cidrBlocks: ["10.0.0.0/16"] };
      await harness.store.transact((tx) => tx.put(environmentVpcs, [environmentIdentifier, "vpc-1"], vpc));
      await noteOwn(harness.store);
    }
    await harness.stop();
    return directory;
  };
  const start = async (directory: string, log: Logger): Promise<CampaignService> => {
    const clock = new FakeClock();
    const harness = await startHarness({ directory, clock, log });
    return {
      call: (tenant) => {
        const account = tenant === "own" ? ownerAccount : other;
        return outcomesOf(callsOf(harness.clientOf(account), account, filled.get(account) as Filled, harness));
      },
      passSecond: async () => {
        clock.advance(1_000);
        await harness.workspace.jobs.idle();
      },
      stop: harness.stop,
    };
  };
  const { problems, cases } = await runCampaign({ layout, mayBeEmpty, fill, start });
  expect(problems).toEqual([]);
  expect(cases).toBeGreaterThan(layout.length);
});
