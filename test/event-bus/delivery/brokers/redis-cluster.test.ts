import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

import { createClient } from "@redis/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { eventually } from "../../../support/eventually.ts";
import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasRedis, startRedisNode } from "./servers.ts";

const login = { password: "redis-secret" };

/** The first slots of the three nodes, and the end of the last. */
const slots = [0, 5_461, 10_923, 16_384] as const;

/** Keys with their slots, by CLUSTER KEYSLOT; three nodes share 16,384 slots in the order of the nodes. */
const keys = [
  // key, slot, the node that has it
  ["b", 3_300, 0],
  ["a", 15_495, 2],
  ["c", 7_365, 1],
] as const;

interface Node {
  readonly server: BrokerServer;
  /** Asks the node itself, which answers for its own keys alone. */
  ask(...command: readonly string[]): Promise<unknown>;
}

let nodes: readonly Node[] = [];

const startNode = async (): Promise<Node & { readonly busPort: number }> => {
  const { server, busPort } = await startRedisNode(
    "--requirepass",
    login.password,
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
  );
  const ask = async (...command: readonly string[]): Promise<unknown> => {
    const client = createClient({ socket: { host: "127.0.0.1", port: server.port }, ...login, RESP: 2 });
    await client.connect();
    try {
      return await client.sendCommand([...command]);
    } finally {
      client.destroy();
    }
  };
  return { server, busPort, ask };
};

/** Waits until each node knows all slots. */
const settled = () =>
  eventually(async () => {
    const states = await Promise.all(nodes.map(({ ask }) => ask("CLUSTER", "INFO")));
    return states.every((state) => /cluster_state:ok[^]*cluster_known_nodes:3/.test(String(state)));
  }, "the nodes are a cluster");

const urlOf = ({ server }: Node): string => `redis://127.0.0.1:${server.port}`;
const idOf = async ({ ask }: Node): Promise<string> => String(await ask("CLUSTER", "MYID"));
/** How many entries a stream has at a node. */
const lengthAt = (node: Node | undefined, key: string): Promise<unknown> | undefined => node?.ask("XLEN", key);

beforeAll(async () => {
  if (!hasRedis()) return;
  const started = [await startNode(), await startNode(), await startNode()];
  nodes = started;
  for (const [index, { ask }] of started.entries())
    await ask("CLUSTER", "ADDSLOTSRANGE", `${slots[index] ?? 0}`, `${(slots[index + 1] ?? 0) - 1}`);
  for (const { server, busPort } of started.slice(1))
    await started[0]?.ask("CLUSTER", "MEET", "127.0.0.1", `${server.port}`, `${busPort}`);
  await settled();
});
afterAll(async () => {
  for (const { server } of nodes) await server.stop();
});

describe.skipIf(!hasRedis())("a delivery to a cluster of Redis", () => {
  test.each(keys)(
    "reaches the node that has the key %s of slot %i, whichever node the URL names",
    async (key, slot, owner) => {
      const [first, second] = nodes;
      if (first === undefined || second === undefined) throw new Error("there are nodes");
      expect(await first.ask("CLUSTER", "KEYSLOT", key)).toBe(slot);
      for (const node of [first, second]) {
        const { putTarget, sell, deadLetters } = await openBrokerShop({ url: urlOf(node), ...login });
        await putTarget(`stream/${key}`);
        // The second one is sent to the right node at once.
        await sell();
        await sell();
        expect(await deadLetters()).toEqual([]);
      }
      expect(await lengthAt(nodes[owner], key)).toBe(4);
    },
  );

  test("follows a key that is moved to another node, also while it is", async () => {
    const [from, to] = nodes;
    if (from === undefined || to === undefined) throw new Error("there are nodes");
    const { putTarget, sell, deadLetters } = await openBrokerShop({ url: urlOf(from), ...login });
    // A key of the slot of `b` that has no entry yet.
    const key = "{b}-moved";
    await putTarget(`stream/${key}`);
    const slot = "3300";
    const [fromId, toId] = [await idOf(from), await idOf(to)];
    await to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
    await from.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
    await sell();
    expect(await deadLetters()).toEqual([]);
    await to.ask("CLUSTER", "SETSLOT", slot, "NODE", toId);
    await from.ask("CLUSTER", "SETSLOT", slot, "NODE", toId);
    await sell();
    await sell();
    expect(await deadLetters()).toEqual([]);
    expect(await lengthAt(to, key)).toBe(3);
  });

  test("waits for the node of its key, and is made there on a new connection", async () => {
    const [first, , third] = nodes;
    if (first === undefined || third === undefined) throw new Error("there are nodes");
    const { sellAcrossRestart } = await openBrokerShop({ url: urlOf(first), ...login });
    const before = Number(await lengthAt(third, "a"));
    await sellAcrossRestart("stream/a", {
      ...third.server,
      async start() {
        await third.server.start();
        await settled();
      },
    });
    expect(Number(await lengthAt(third, "a")) - before).toBe(2);
  });

  test("says that the password is wrong", async () => {
    const { outcomeAt } = await openBrokerShop({ url: nodes.map(urlOf)[0] ?? "", password: "wrong" });
    expect(await outcomeAt("stream/a")).toBe(
      "retry NO_PERMISSIONS: The broker refuses the installation's credentials.",
    );
  });
});

test("a delivery to a server that names itself for ever is sent there five times, and retried later", async () => {
  let commands = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const received = bytes.toString("latin1");
      const added = received.split("XADD").length - 1;
      commands += added;
      socket.write("+OK\r\n".repeat(received.split(/\*\d+\r\n/).length - 1 - added));
      if (added > 0) socket.write(`-MOVED 1 :${(server.address() as AddressInfo).port}\r\n`);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { outcomeAt } = await openBrokerShop({ url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` });
  expect(await outcomeAt("stream/sales", { input: "1" })).toBe(
    "retry ERROR_FROM_TARGET: The server refused the entry with MOVED.",
  );
  expect(commands).toBe(5);
});
