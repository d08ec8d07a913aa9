import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

import { describe, expect, onTestFinished, test } from "vitest";

import type { InFlightLimits } from "../../../services/kit/server/requests-in-flight.ts";
import { RequestsInFlight } from "../../../services/kit/server/requests-in-flight.ts";
import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";

const defaults: InFlightLimits = { perConnectionMax: 8, runningMax: 100, waitingMax: 10_000 };

type Serve = (request: IncomingMessage, response: ServerResponse, isBusy: boolean) => void;

const startPort = async (serve: Serve, limits: Partial<InFlightLimits> = {}) => {
  const inFlight = new RequestsInFlight({ ...defaults, ...limits });
  const server = createServer((request, response) =>
    inFlight.take(request, response, (isBusy) => serve(request, response, isBusy)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    let text = "";
    socket.on("data", (piece) => {
      text += piece.toString("latin1");
    });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    return { socket, answers: () => text.split("HTTP/1.1 ").slice(1) };
  };
  return { inFlight, open };
};

const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n${headers}\r\n`;

/** The size of the headers of a real client. */
const usualHeaders = `user-agent: ${"a".repeat(300)}\r\n`;

test("pipelined requests are served in order, at most the connection's share at once", async () => {
  const count = rounds(20_000, 250_000);
  const most = { running: 0, waiting: 0 };
  const port = await startPort((request, response) => {
    most.running = Math.max(most.running, port.inFlight.running);
    most.waiting = Math.max(most.waiting, port.inFlight.waiting);
    void turn().then(() => response.end(request.url));
  });
  const client = port.open();
  let sent = "";
  for (let at = 0; at < count; at += 1) sent += get(`/${at}`, usualHeaders);
  client.socket.write(sent);
  const answers = await eventually(
    () => (client.answers().length === count ? client.answers() : undefined),
    "all requests are answered",
    120_000,
  );
  expect(answers.at(-1)).toMatch(new RegExp(`\r\n/${count - 1}$`));
  expect(most.running).toBe(8);
  // One read of the network holds at most 64 KiB, and follows when 32 requests wait.
  expect(most.waiting).toBeLessThan(32 + (64 * 1024) / usualHeaders.length);
  expect([port.inFlight.running, port.inFlight.waiting]).toEqual([0, 0]);
}, 180_000);

test("a body after pipelined requests is read, though it is the last of the connection's share", async () => {
  const port = await startPort(
    (request, response) => {
      request.resume();
      request.on("end", () => response.end("done"));
    },
    { perConnectionMax: 1 },
  );
  const client = port.open();
  client.socket.write(`${get("/a")}${get("/b")}PUT /c HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nha`);
  await eventually(() => client.answers().length === 2, "the first two are answered");
  client.socket.write("lf");
  const [, , upload] = await eventually(
    () => client.answers().length === 3 && client.answers(),
    "the upload is answered",
  );
  expect(upload).toMatch(/^200 [^]*done$/);
});

test("requests over the number of running ones are started as busy", async () => {
  const held: ServerResponse[] = [];
  const port = await startPort(
    (_request, response, isBusy) => {
      if (isBusy) response.writeHead(503).end();
      else held.push(response);
    },
    { runningMax: 2 },
  );
  const [first, second] = [port.open(), port.open()];
  first.socket.write(get("/a") + get("/b"));
  await eventually(() => held.length === 2, "two requests are served");
  second.socket.write(get("/c"));
  await eventually(() => second.answers().length === 1, "the third is answered");
  expect(second.answers()[0]).toMatch(/^503 /);
  for (const response of held.splice(0)) response.end();
  await eventually(() => first.answers().length === 2 && port.inFlight.running === 0, "the first two are answered");
  second.socket.write(get("/d"));
  await eventually(() => held.length === 1, "there is room again");
});

test("a connection that pipelines hundreds of requests at once is closed", async () => {
  const held: ServerResponse[] = [];
  const port = await startPort((_request, response) => held.push(response));
  const client = port.open();
  client.socket.write(get("/a").repeat(8 + 288));
  await eventually(() => port.inFlight.waiting === 288, "as many wait as may");
  client.socket.write(get("/b"));
  for (const response of held.splice(0)) response.end();
  await eventually(() => client.answers().length === 8, "the first ones are answered");
  const greedy = port.open();
  greedy.socket.write(get("/a").repeat(8 + 289));
  await eventually(() => greedy.socket.closed, "the connection is closed");
  expect(port.inFlight.waiting).toBeLessThanOrEqual(288);
});

test("the connection that exceeds the waiting requests is closed, and what it had counts no longer", async () => {
  const held: ServerResponse[] = [];
  const port = await startPort((_request, response) => held.push(response), { perConnectionMax: 1, waitingMax: 2 });
  const [greedy, modest] = [port.open(), port.open()];
  modest.socket.write(get("/a"));
  await eventually(() => held.length === 1, "a request is served");
  greedy.socket.write(get("/b").repeat(4));
  await eventually(() => greedy.socket.closed, "the connection is closed");
  expect(greedy.answers()).toEqual([]);
  await eventually(() => port.inFlight.running === 1 && port.inFlight.waiting === 0, "its requests are gone");
  held[0]?.end();
  await eventually(() => modest.answers().length === 1, "the other connection is answered");
});

describe("a client that goes away", () => {
  /** A client that has sent requests and closed its connection while eight of them are served. */
  const leave = async (count: number) => {
    const held: ServerResponse[] = [];
    const port = await startPort((_request, response) => held.push(response));
    const { socket } = port.open();
    socket.write(get("/a", usualHeaders).repeat(count));
    await eventually(() => port.inFlight.running === 8 && port.inFlight.waiting > 0, "requests are served and wait");
    socket.destroy();
    return { held, inFlight: port.inFlight };
  };

  test.each([9, 20, 40])("after %i requests is noticed at once", async (count) => {
    const { held, inFlight } = await leave(count);
    await eventually(() => inFlight.running === 0, "all are given up");
    expect([inFlight.waiting, held.length]).toEqual([0, 8]);
  });

  test.each([41, 100, 1_000])("after %i requests is noticed when its second answer is sent", async (count) => {
    const { held, inFlight } = await leave(count);
    held[0]?.end("one");
    await eventually(() => held.length === 9, "the next request is served");
    held[1]?.end("two");
    await eventually(() => inFlight.running === 0, "all others are given up");
    expect([inFlight.waiting, held.length]).toEqual([0, 9]);
  });
});
