import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import type { EventBusClient } from "../harness.ts";
import { ownerAccount, refusalOf } from "../harness.ts";
import { dayMs, sales, startPartnership, stateNames } from "./partnership.ts";
import { findEvent } from "../../../services/event-bus/store/event.ts";
import { openShop } from "../delivery/shop.ts";

/** A bus for the source whose events come to a till. */
const openTill = async (client: EventBusClient) => {
  const shop = await openShop(client);
  await client.createEventBus({ name: sales, eventSourceName: sales });
  await client.putRule({ name: "all", eventBusName: sales, eventPattern: `{"source":["${sales}"]}` });
  await client.putTargets({ rule: "all", eventBusName: sales, targets: [{ id: "t", arn: shop.destinationArn }] });
  return shop.till;
};

describe("a partner event source", () => {
  test("is pending until the account creates its bus, whose name is that of the source", async () => {
    const { client, clock, share, stateOf } = await startPartnership();
    expect((await share()).eventSourceArn).toBe(`arn:aws:events:us-east-1::event-source/${sales}`);
    const pending = await client.describeEventSource({ name: sales });
    expect(pending).toMatchObject({ name: sales, createdBy: "acme", state: EventSourceState.PENDING });
    expect(pending.expirationTime && timestampMs(pending.expirationTime)).toBe(clock.now() + 14 * dayMs);
    expect(await refusalOf(client.createEventBus({ name: "other", eventSourceName: sales }))).toBe(
      "PARAMETER_REFUSED: Parameter Name is not valid. Reason: Name must equal EventSourceName.",
    );
    await client.createEventBus({ name: sales, eventSourceName: sales, tags: [{ key: "from", value: "acme" }] });
    expect(await stateOf()).toBe("ACTIVE");
    expect((await client.describeEventBus({ name: sales })).state).toBe("ACTIVE");
    expect(
      (await client.listEventSources({ namePrefix: "aws.partner/" })).eventSources.map(({ name }) => name),
    ).toEqual([sales]);
    const { tags } = await client.listTagsForResource({
      resourceArn: `arn:aws:events:us-east-1:${ownerAccount}:event-bus/${sales}`,
    });
    expect(tags.map(({ key, value }) => `${key}=${value}`)).toEqual(["from=acme"]);
  });

  test("brings its events to the bus of the account, in the account's name", async () => {
    const { client, app, share, put } = await startPartnership();
    await share();
    const till = await openTill(client);
    const id = await put();
    await app.jobs.idle();
    expect(till.received.map(({ body }) => body.toString())).toEqual([
      `{"version":"0","id":"${id}","detail-type":"Sale","source":"${sales}","account":"${ownerAccount}",` +
        '"time":"2026-01-02T03:04:05Z","region":"us-east-1","resources":[],"detail":{}}',
    ]);
  });

  test("that is deactivated sends nothing and keeps its bus, until it is activated", async () => {
    const { client, app, share, stateOf, put } = await startPartnership();
    await share();
    const till = await openTill(client);
    await client.deactivateEventSource({ name: sales });
    await client.deactivateEventSource({ name: sales });
    expect(await stateOf()).toBe("PENDING");
    await put();
    await app.jobs.idle();
    expect(till.received).toEqual([]);
    expect((await client.describeEventBus({ name: sales })).state).toBe("ACTIVE");
    await client.activateEventSource({ name: sales });
    expect(await stateOf()).toBe("ACTIVE");
    await put();
    await app.jobs.idle();
    expect(till.received).toHaveLength(1);
  });

  test("is pending again when its bus is deleted", async () => {
    const { client, share, stateOf } = await startPartnership();
    await share();
    await client.createEventBus({ name: sales, eventSourceName: sales });
    await client.deleteEventBus({ name: sales });
    expect(await stateOf()).toBe("PENDING");
    expect(await refusalOf(client.activateEventSource({ name: sales }))).toBe(
      `EVENT_SOURCE_STATE: Event source ${sales} is not in a valid state for this operation: it has no event bus.`,
    );
  });

  test("that its partner deletes leaves its bus with the state DELETED, and is forgotten with the bus", async () => {
    const { client, partner, share, stateOf, put } = await startPartnership();
    await share();
    await client.createEventBus({ name: sales, eventSourceName: sales });
    await partner.deletePartnerEventSource({ name: sales, account: ownerAccount });
    await partner.deletePartnerEventSource({ name: sales, account: ownerAccount });
    expect(await stateOf()).toBe("DELETED");
    expect((await client.describeEventBus({ name: sales })).state).toBe("DELETED");
    expect(await put()).toBe("NotAuthorizedForSourceException");
    expect(await refusalOf(client.activateEventSource({ name: sales }))).toMatch(/its partner has deleted it/);
    expect((await partner.listPartnerEventSources({ namePrefix: "aws.partner/acme" })).partnerEventSources).toEqual([]);
    await client.deleteEventBus({ name: sales });
    expect(await refusalOf(client.describeEventSource({ name: sales }))).toBe(
      `EVENT_SOURCE_NOT_FOUND: Event source ${sales} does not exist.`,
    );
  });

  test("that is pending for two weeks is deleted, with or without its bus", async () => {
    const { client, clock, share, stateOf } = await startPartnership();
    await share();
    await share("aws.partner/acme/shop/returns");
    await client.createEventBus({ name: sales, eventSourceName: sales });
    await client.deactivateEventSource({ name: sales });
    clock.advance(14 * dayMs - 1);
    expect(await stateOf()).toBe("PENDING");
    clock.advance(1);
    expect(await stateOf()).toBe("DELETED");
    clock.advance(60_000);
    await expect.poll(async () => (await client.describeEventBus({ name: sales })).state).toBe("DELETED");
    await expect
      .poll(async () => (await client.listEventSources({})).eventSources.map(({ name }) => name))
      .toEqual([sales]);
  });

  test("is created once for each account that receives it, and its events reach each account's bus", async () => {
    const other = "222222222222";
    const { client, clientOf, clock, partner, share, put, store } = await startPartnership();
    await share();
    await share(sales, other);
    expect(await refusalOf(share())).toBe(`EVENT_SOURCE_ALREADY_EXISTS: Event source ${sales} already exists.`);
    await client.createEventBus({ name: sales, eventSourceName: sales });
    await clientOf(other).createEventBus({ name: sales, eventSourceName: sales });
    expect(await refusalOf(clientOf(other).createEventBus({ name: sales, eventSourceName: sales }))).toMatch(
      /EVENT_BUS_ALREADY_EXISTS/,
    );
    const { partnerEventSourceAccounts } = await partner.listPartnerEventSourceAccounts({ eventSourceName: sales });
    expect(partnerEventSourceAccounts.map(({ account, state }) => `${account} ${stateNames[state]}`)).toEqual([
      "000000000000 ACTIVE",
      "222222222222 ACTIVE",
    ]);
    const id = await put();
    const ingestedMs = clock.now();
    const received = await store.read((reader) =>
      Promise.all(
        [ownerAccount, other].map((account) => findEvent(reader, { account, ingestedMs, eventId: id ?? "" })),
      ),
    );
    expect(received.map((event) => [event?.account, event?.bus])).toEqual([
      [ownerAccount, sales],
      [other, sales],
    ]);
  });
});
