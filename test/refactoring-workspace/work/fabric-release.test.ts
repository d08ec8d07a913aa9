import { cp } from "node:fs/promises";

import { describe, expect, test } from "vitest";

import { ProxyType } from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { NetworkFabricType } from "../../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import type { Fabric } from "../../../services/refactoring-workspace/fabric/fabric.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Harness } from "../harness.ts";
import { makeEnvironment, ownerAccount, refusalOf, startHarness } from "../harness.ts";

const tenMinutes = 10 * 60 * 1000;
const shop = { name: "shop", proxyType: ProxyType.API_GATEWAY, vpcId: "vpc-0a1b2c3d" };

/** A fabric that keeps what it provisioned, by the id of the environment or application, and may fail. */
class RecordingFabric implements Fabric {
  readonly held = new Set<string>();
  readonly accounts = new Set<string>();
  failingDeletions = 0;
  beforeReturn: () => Promise<void> = async () => {};

  async createTransitGateway(accountId: string, environmentId: string): Promise<string> {
    await this.#create(accountId, environmentId);
    return "tgw-0123456789abcdef0";
  }

  async createProxy(accountId: string, applicationId: string) {
    await this.#create(accountId, applicationId);
    const apiGatewayId = applicationId.slice(4).toLowerCase();
    return { apiGatewayId, nlbName: "nlb", nlbArn: "arn:aws:x:::nlb", vpcLinkId: "0123456789" };
  }

  describeVpc = async () => ({ name: undefined, cidrBlocks: ["10.0.0.0/8"] });
  deleteTransitGateway = (accountId: string, environmentId: string) => this.#delete(accountId, environmentId);
  deleteProxy = (accountId: string, applicationId: string) => this.#delete(accountId, applicationId);

  async #create(accountId: string, id: string): Promise<void> {
    this.accounts.add(accountId);
    this.held.add(id);
    await this.beforeReturn();
  }

  async #delete(accountId: string, id: string): Promise<void> {
    this.accounts.add(accountId);
    if (this.failingDeletions-- > 0) throw new Error("the fabric is away");
    this.held.delete(id);
  }
}

/** Lets the time pass after which nothing unrecorded may be held. */
const settle = async ({ clock, workspace }: Harness): Promise<void> => {
  clock.advance(tenMinutes);
  await workspace.jobs.idle();
};

describe("network resources", () => {
  test("of what is recorded are kept, and released when it is deleted", async () => {
    const fabric = new RecordingFabric();
    const harness = await startHarness({ fabric });
    const { client, workspace } = harness;
    const { environmentId } = await client.createEnvironment({
      name: "move",
      networkFabricType: NetworkFabricType.TRANSIT_GATEWAY,
    });
    const { applicationId } = await client.createApplication({ ...shop, environmentIdentifier: environmentId });
    await settle(harness);
    expect(fabric.held).toEqual(new Set([environmentId, applicationId]));

    await client.deleteApplication({ environmentIdentifier: environmentId, applicationIdentifier: applicationId });
    await workspace.jobs.idle();
    expect(fabric.held).toEqual(new Set([environmentId]));
    await client.deleteEnvironment({ environmentIdentifier: environmentId });
    await workspace.jobs.idle();
    expect(fabric.held).toEqual(new Set());
    expect(fabric.accounts).toEqual(new Set([ownerAccount]));
  });

  test("of a refused call, and of one that a client token makes a repetition, are released", async () => {
    const fabric = new RecordingFabric();
    const harness = await startHarness({ fabric });
    const { client } = harness;
    const refused = client.createApplication({ ...shop, environmentIdentifier: "env-0000000000" });
    expect(await refusalOf(refused)).toBe("RESOURCE_NOT_FOUND: There is no ENVIRONMENT env-0000000000.");
    const named = { ...shop, environmentIdentifier: await makeEnvironment(client), clientToken: "t" };
    const { applicationId } = await client.createApplication(named);
    expect((await client.createApplication(named)).applicationId).toBe(applicationId);
    expect(fabric.held.size).toBe(3);
    await settle(harness);
    expect(fabric.held).toEqual(new Set([applicationId]));
  });

  test("whose creation failed halfway are released", async () => {
    const fabric = new RecordingFabric();
    const harness = await startHarness({ fabric });
    const environmentIdentifier = await makeEnvironment(harness.client);
    fabric.beforeReturn = () => Promise.reject(new Error("the fabric is away"));
    expect(await refusalOf(harness.client.createApplication({ ...shop, environmentIdentifier }))).toMatch(/^INTERNAL/);
    expect(fabric.held.size).toBe(1);
    await settle(harness);
    expect(fabric.held.size).toBe(0);
  });

  test("that a crash left between their creation and their record are released after the next start", async () => {
    const fabric = new RecordingFabric();
    const first = await startHarness({ fabric });
    const environmentIdentifier = await makeEnvironment(first.client);
    const directory = await temporaryDirectory();
    // The files as a process leaves them that is killed after the fabric created and before anything is recorded.
    fabric.beforeReturn = () => cp(first.directory, directory, { recursive: true });
    const { applicationId } = await first.client.createApplication({ ...shop, environmentIdentifier });
    expect(fabric.held).toEqual(new Set([applicationId]));

    const second = await startHarness({ directory, fabric });
    expect((await second.client.listApplications({ environmentIdentifier })).applicationSummaryList).toEqual([]);
    await settle(second);
    expect(fabric.held).toEqual(new Set());
  });

  test("are released again and again until the fabric does it", async () => {
    const fabric = new RecordingFabric();
    const { client, clock } = await startHarness({ fabric });
    const environmentIdentifier = await makeEnvironment(client);
    const { applicationId } = await client.createApplication({ ...shop, environmentIdentifier });
    fabric.failingDeletions = 3;
    await client.deleteApplication({ environmentIdentifier, applicationIdentifier: applicationId });
    await eventually(() => {
      clock.advance(60_000);
      return fabric.held.size === 0;
    }, "the resources are released");
    expect(fabric.failingDeletions).toBe(-1);
  });

  test("whose creation took too long are not recorded", async () => {
    const fabric = new RecordingFabric();
    const harness = await startHarness({ fabric });
    const environmentIdentifier = await makeEnvironment(harness.client);
    fabric.beforeReturn = async () => harness.clock.advance(tenMinutes);
    expect(await refusalOf(harness.client.createApplication({ ...shop, environmentIdentifier }))).toMatch(/^INTERNAL/);
    await harness.workspace.jobs.idle();
    expect(fabric.held.size).toBe(0);
    expect((await harness.client.listApplications({ environmentIdentifier })).applicationSummaryList).toEqual([]);
  });
});
