import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { addMasterKey } from "../../../services/kit/keyring/master-keys.ts";
import { findEventKey } from "../../../services/event-bus/store/event-key.ts";
import { getBus } from "../../../services/event-bus/store/bus.ts";
import { changingKeys } from "../../support/changing-keys.ts";
import { eventually } from "../../support/eventually.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { openShop } from "../delivery/shop.ts";
import type { HarnessOptions } from "../harness.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";
import { storedText } from "./stored-text.ts";

const crm = { id: "crm", aliases: ["alias/crm"] };
const queueArn = "arn:aws:sqs:us-east-1:000000000000:lost";
const busArn = "arn:aws:events:us-east-1:000000000000:event-bus/default";

/** A service whose default bus has a key. */
const startSealed = async (options: HarnessOptions = {}) => {
  const keys = changingKeys();
  keys.declare(crm, { id: "old", state: "DISABLED" });
  const harness = await startHarness({ ...options, keyNames: keys.names });
  await harness.client.updateEventBus({ name: "default", kmsKeyIdentifier: "alias/crm" });
  return { ...harness, keys };
};

const startQueue = async () => {
  const queue = await startHttpReceiver();
  onTestFinished(() => queue.close());
  const endpoint = { url: queue.url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" };
  return { queue, endpoints: { sqs: endpoint } };
};

const bodiesOf = (received: readonly { readonly body: Buffer }[]): unknown[] =>
  received.map(({ body }) => JSON.parse(body.toString()));

describe("the key of a bus", () => {
  // key, refusal
  test.each([
    ["alias/none", "ENCRYPTION_KEY_NOT_FOUND: Encryption key alias/none does not exist."],
    ["old", "ENCRYPTION_KEY_DISABLED: Encryption key old is disabled."],
  ])("cannot be %s", async (kmsKeyIdentifier, refusal) => {
    const { client } = await startSealed();
    expect(await refusalOf(client.createEventBus({ name: "orders", kmsKeyIdentifier }))).toBe(refusal);
    expect(await refusalOf(client.updateEventBus({ name: "default", kmsKeyIdentifier }))).toBe(refusal);
    expect((await client.describeEventBus({})).kmsKeyIdentifier).toBe("alias/crm");
  });

  test("encrypts what events contain in the log and in dead letters, and targets receive it in clear", async () => {
    const { client, app, directory } = await startSealed();
    const shop = await openShop(client, { answer: () => ({ status: 404 }) });
    await shop.sell({ word: "tangerine" });
    await app.jobs.idle();
    expect(bodiesOf(shop.till.received)).toMatchObject([{ source: "shop", detail: { word: "tangerine" } }]);
    const { deadLetters } = await client.listDeadLetters({});
    expect(JSON.parse(deadLetters[0]?.event ?? "")).toMatchObject({ detail: { word: "tangerine" } });
    expect(await storedText(directory)).not.toContain("tangerine");
    await client.updateEventBus({ name: "default" });
    await shop.sell({ word: "mandarin" });
    expect(await storedText(directory)).toContain("mandarin");
  });

  test("that is disabled lets the deliveries of stored events wait until it is enabled", async () => {
    const { client, app, clock, keys } = await startSealed();
    const shop = await openShop(client, { answer: () => ({ status: shop.till.received.length > 1 ? 200 : 503 }) });
    const eventId = await shop.sell({ n: 1 });
    await app.jobs.idle();
    keys.declare({ ...crm, state: "DISABLED" });
    for (const ms of [1_000, 2_000]) {
      clock.advance(ms);
      await app.jobs.idle();
    }
    expect(shop.till.received).toHaveLength(1);
    expect(await refusalOf(client.traceEvent({ eventId }))).toBe(
      "ENCRYPTION_KEY_DISABLED: Encryption key crm is disabled.",
    );
    keys.declare(crm);
    clock.advance(10_000);
    await app.jobs.idle();
    expect(bodiesOf(shop.till.received)).toMatchObject([{ id: eventId }, { id: eventId }]);
  });

  test("that is disabled makes arriving events dead letters of the bus, which are sent to its queue and redriven", async () => {
    const { queue, endpoints } = await startQueue();
    const { client, app, keys, directory } = await startSealed({ endpoints });
    await client.updateEventBus({
      name: "default",
      kmsKeyIdentifier: "alias/crm",
      deadLetterConfig: { arn: queueArn },
    });
    const shop = await openShop(client);
    keys.declare({ ...crm, state: "DISABLED" });
    const eventId = await shop.sell({ word: "tangerine" });
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(0);
    const { deadLetters } = await client.listDeadLetters({});
    expect(deadLetters).toMatchObject([
      {
        ruleArn: "",
        targetArn: busArn,
        errorCode: "NO_PERMISSIONS",
        errorMessage: "Key crm is disabled.",
        queueArn,
      },
    ]);
    expect(bodiesOf(queue.received)).toMatchObject([
      {
        MessageBody: deadLetters[0]?.event,
        MessageAttributes: { TARGET_ARN: { StringValue: busArn }, ERROR_CODE: { StringValue: "NO_PERMISSIONS" } },
      },
    ]);
    expect(await storedText(directory)).not.toContain("tangerine");
    keys.declare(crm);
    const ids = deadLetters.map(({ id }) => id);
    expect((await client.redriveDeadLetters({ ids })).redrivenCount).toBe(1);
    await app.jobs.idle();
    expect(bodiesOf(shop.till.received)).toMatchObject([{ id: eventId, detail: { word: "tangerine" } }]);
  });

  test("that is disabled ends a replay, and hides the events of dead letters, which can be redriven", async () => {
    const { client, app, clock, keys } = await startSealed();
    await client.createArchive({ archiveName: "all", eventSourceArn: busArn });
    const shop = await openShop(client, { answer: () => ({ status: shop.till.received.length > 1 ? 200 : 404 }) });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    keys.declare({ ...crm, state: "DISABLED" });
    const seconds = BigInt(Math.floor(clock.now() / 1_000));
    await client.startReplay({
      replayName: "again",
      eventSourceArn: "arn:aws:events:us-east-1:000000000000:archive/all",
      eventStartTime: { seconds: seconds - 60n, nanos: 0 },
      eventEndTime: { seconds: seconds + 60n, nanos: 0 },
      destination: { arn: busArn },
    });
    await app.jobs.idle();
    const replay = await client.describeReplay({ replayName: "again" });
    expect([replay.state, replay.stateReason]).toEqual([ReplayState.FAILED, "Key crm is disabled."]);
    const [letter] = (await client.listDeadLetters({})).deadLetters;
    expect(letter?.event).toBe("");
    await client.redriveDeadLetters({ ids: [letter?.id ?? ""] });
    keys.declare(crm);
    clock.advance(1_000);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(2);
  });

  test("is wrapped again after a rotation of the master key, which a restart still needs", async () => {
    const { client, app, clock, directory } = await startSealed();
    const shop = await openShop(client, { answer: () => ({ status: 404 }) });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    const isStale = () =>
      app.store.read(async (reader) => {
        const { eventKeyId = "" } = await getBus(reader, { account: ownerAccount, name: "default" });
        const key = await findEventKey(reader, ownerAccount, eventKeyId);
        return [key?.wrappedKey, key?.wrappedLetterKey].some((each) => app.keyring.isStale(each ?? new Uint8Array()));
      });
    const before = app.keyring.masterKeyId();
    await addMasterKey(join(directory, "master.keys"));
    await eventually(async () => {
      clock.advance(60_000);
      return app.keyring.masterKeyId() !== before && !(await isStale());
    }, "the data key was wrapped again");
    const [letter] = (await client.listDeadLetters({})).deadLetters;
    expect(JSON.parse(letter?.event ?? "")).toMatchObject({ detail: { n: 1 } });
  });
});

test("a dead letter of a target that names no queue is sent to the queue of its bus", async () => {
  const { queue, endpoints } = await startQueue();
  const { client, app } = await startHarness({ endpoints });
  await client.updateEventBus({ name: "default", deadLetterConfig: { arn: queueArn } });
  const own = "arn:aws:sqs:us-east-1:000000000000:own";
  const shop = await openShop(client, { answer: () => ({ status: 404 }) });
  await client.putTargets({
    rule: "sales",
    targets: [{ id: "second", arn: shop.destinationArn, deadLetterConfig: { arn: own } }],
  });
  await shop.sell({ n: 1 });
  await app.jobs.idle();
  const urls = bodiesOf(queue.received).map((body) => (body as { QueueUrl: string }).QueueUrl.replace(queue.url, ""));
  expect(urls.toSorted()).toEqual(["/000000000000/lost", "/000000000000/own"]);
});
