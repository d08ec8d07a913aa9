import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import type { BrokerPlace, BrokerSetting } from "../../../../services/event-bus/domain/broker.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import type { BrokerServer } from "./servers.ts";
import {
  hasKafka,
  hasNats,
  hasPostgresql,
  hasRabbitMq,
  hasRedis,
  startKafka,
  startNats,
  startPostgresql,
  startRabbitMq,
  startRedis,
} from "./servers.ts";

/*
 * A broker whose connections end after each number of its answers: while it is connected to, while it logs in, while a
 * message is published. Clients report an end in more than one way, and what nobody listens to would end the process.
 */

/** More answers than any exchange of these tests has. */
const answersMax = 7;
/** How long a message may take that has one outcome only, however busy the machine is. */
const certainMs = 60_000;

/** How a connection ends instead of an answer. */
const cuts: readonly ((client: Socket, answer: Buffer) => void)[] = [
  (client) => client.resetAndDestroy(),
  (client, answer) => client.end(answer.subarray(0, answer.length >> 1)),
];

const kinds: Readonly<
  Record<
    string,
    {
      readonly isInstalled: () => boolean;
      readonly start: () => Promise<BrokerServer>;
      readonly place: BrokerPlace;
      readonly login?: Partial<BrokerSetting>;
      /** How a message ends that reaches the server. */
      readonly accepted?: string;
    }
  >
> = {
  nats: {
    isInstalled: hasNats,
    start: startNats,
    place: { sort: "subject", name: "sales" },
    // No stream has the subject.
    accepted: "NO_RESOURCE",
  },
  redis: {
    isInstalled: hasRedis,
    start: () => startRedis("--requirepass", "redis-secret"),
    place: { sort: "stream", name: "sales" },
    login: { password: "redis-secret" },
  },
  postgresql: {
    isInstalled: hasPostgresql,
    start: startPostgresql,
    place: { sort: "channel", name: "sales" },
    login: { user: "postgres", password: "pg-secret" },
  },
  amqp: {
    isInstalled: hasRabbitMq,
    start: startRabbitMq,
    place: { sort: "exchange", name: "amq.topic/sales" },
    // No queue is bound.
    accepted: "NO_RESOURCE",
  },
  kafka: {
    isInstalled: hasKafka,
    start: startKafka,
    place: { sort: "topic", name: "sales" },
    // There is no such topic.
    accepted: "NO_RESOURCE",
  },
};

/** Passes on so many answers of a server, all connections together, and then cuts each connection. */
const startRelay = async (server: BrokerServer, answers: number, cut: (typeof cuts)[number]): Promise<number> => {
  let passed = 0;
  const relay = createServer((client) => {
    const upstream = connect(server.port, "127.0.0.1");
    client.on("error", () => {});
    upstream.on("error", () => {});
    client.on("data", (question) => upstream.write(question));
    client.on("close", () => upstream.destroy());
    upstream.on("data", (answer: Buffer) => {
      passed += 1;
      if (passed <= answers) return void client.write(answer);
      upstream.destroy();
      cut(client, answer);
    });
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  onTestFinished(() => void relay.close());
  return (relay.address() as AddressInfo).port;
};

describe.each(Object.entries(kinds))(
  "a broker of the kind %s",
  (kind, { isInstalled, start, place, login, accepted }) => {
    test.skipIf(!isInstalled())(
      "whose connections end after any number of answers fails its messages and nothing else",
      async () => {
        const server = await start();
        onTestFinished(() => server.stop());
        const outcomesAfter = async (answers: number, cut: (typeof cuts)[number], limitMs: number) => {
          const url = `${kind}://127.0.0.1:${await startRelay(server, answers, cut)}`;
          const broker = brokerOf("000000000000/main", { url, ...login });
          const connections = new BrokerConnections({ log: silentLogger, limitMs, messagesMax: 10 });
          const message = { place, key: "", body: "1", contentType: "application/json", attributes: [] };
          const publish = async (id: string) =>
            (await connections.publish(broker, { id, ...message }, new AbortController().signal))?.code;
          const outcome = await publish("a");
          await connections.close();
          return outcome;
        };
        for (const cut of cuts) {
          expect(await outcomesAfter(0, cut, certainMs)).toBe("CONNECTION_FAILURE");
          for (let answers = 1; answers <= answersMax; answers += 1)
            expect(["CONNECTION_FAILURE", "TIMEOUT", "THROTTLING", accepted]).toContain(
              await outcomesAfter(answers, cut, 1_000),
            );
          expect(await outcomesAfter(1_000, cut, certainMs)).toBe(accepted);
        }
      },
      240_000,
    );
  },
);
