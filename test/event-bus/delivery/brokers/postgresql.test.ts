import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { eventually } from "../../../support/eventually.ts";
import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasPostgresql, startPostgresql } from "./servers.ts";

const login = { user: "postgres", password: "pg-secret" };
let server: BrokerServer;
let url: string;

const openClient = async (): Promise<Client> => {
  const client = new Client({ host: "127.0.0.1", port: server.port, database: "postgres", ...login });
  await client.connect();
  return client;
};

const openClientOfTest = async (): Promise<Client> => {
  const client = await openClient();
  onTestFinished(() => client.end());
  return client;
};

beforeAll(async () => {
  server = await startPostgresql();
  url = `postgresql://127.0.0.1:${server.port}/postgres`;
  const client = await openClient();
  await client.query(`
    create schema shop;
    create table shop.sales (id text primary key, event jsonb not null, at timestamptz default now());
    create table "Odd ""name" (id uuid, event text check (event <> '0'));
    create table wrong (other text);
    create user bob password 'bob-secret';
  `);
  await client.end();
});
afterAll(() => server.stop());

describe.skipIf(!hasPostgresql())("a delivery to PostgreSQL", () => {
  // place, table, event of its row
  test.each([
    ["table/shop.sales", "shop.sales", { n: 1 }],
    ['table/Odd "name', '"Odd ""name"', '{"n":1}'],
  ])("to %s is a row with the delivery's id and the input", async (place, table, event) => {
    const client = await openClientOfTest();
    const { sell, putTarget, deadLetters } = await openBrokerShop({ url, ...login });
    await putTarget(place);
    await sell();
    expect(await deadLetters()).toEqual([]);
    const { rows } = await client.query(`select id::text, event from ${table}`);
    expect(rows).toEqual([{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), event }]);
  });

  test("to a channel is a notification of those who listen", async () => {
    const client = await openClientOfTest();
    const heard: unknown[] = [];
    client.on("notification", ({ channel, payload }) => heard.push([channel, payload]));
    await client.query('listen "Sales"');
    const { sell, putTarget } = await openBrokerShop({ url, ...login });
    await putTarget("channel/Sales");
    await sell();
    await eventually(() => heard.length > 0, "the notification has arrived");
    expect(heard).toEqual([["Sales", '{"n":1}']]);
  });

  // setting, place, input, outcome without a further retry
  test.each<[object, string, string, string]>([
    [login, "table/nowhere", "1", "failed NO_RESOURCE: The database refused the message with 42P01."],
    [login, "table/nowhere.sales", "1", "failed NO_RESOURCE: The database refused the message with 42P01."],
    [login, "table/wrong", "1", "failed INVALID_PARAMETER: The database refused the message with 42703."],
    [login, 'table/Odd "name', "0", "failed INVALID_PARAMETER: The database refused the message with 23514."],
    [
      login,
      "channel/sales",
      `"${"é".repeat(3_999)}"`,
      "failed RESOURCE_LIMIT_EXCEEDED: A notification has at most 7999 bytes.",
    ],
    [login, "channel/sales", `"${"é".repeat(3_998)}"`, "delivered"],
    [
      { user: "postgres", password: "wrong" },
      "table/shop.sales",
      "1",
      "retry NO_PERMISSIONS: The broker refuses the installation's credentials.",
    ],
    [
      { user: "bob", password: "bob-secret" },
      "table/shop.sales",
      "1",
      "failed NO_PERMISSIONS: The database refused the message with 42501.",
    ],
  ])("as %j to %s with the input %s ends as %s", async (setting, place, input, outcome) => {
    const { outcomeAt } = await openBrokerShop({ url, ...setting });
    expect(await outcomeAt(place, { input })).toBe(outcome);
  });

  test("waits for a database that does not exist yet", async () => {
    const { outcomeAt } = await openBrokerShop({ url: `postgresql://127.0.0.1:${server.port}/later`, ...login });
    expect(await outcomeAt("table/sales")).toBe("retry NO_RESOURCE: The database refused the message with 3D000.");
  });

  test("waits for a server that ends, and is made on a new connection", async () => {
    const { sell, putTarget, clock, app, deadLetters } = await openBrokerShop({ url, ...login });
    await putTarget("table/shop.sales");
    await sell();
    await server.kill();
    await sell();
    expect(app.jobs.stats().retried).toBe(1);
    await server.start();
    await eventually(async () => (await openClient()).end().then(() => true), "the server has recovered");
    const client = await openClientOfTest();
    await client.query("delete from shop.sales");
    clock.advance(60_000);
    await app.jobs.idle();
    expect(await deadLetters()).toEqual([]);
    expect((await client.query("select event from shop.sales")).rows).toEqual([{ event: { n: 1 } }]);
  });
});
