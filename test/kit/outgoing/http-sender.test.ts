import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, LookupFunction, Socket } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import type { AddressGuard } from "../../../services/kit/network/address-guard.ts";
import { createAddressGuard, ForbiddenAddressError } from "../../../services/kit/network/address-guard.ts";
import type { SendError } from "../../../services/kit/outgoing/http-sender.ts";
import { createHttpSender, defaultSenderLimits } from "../../../services/kit/outgoing/http-sender.ts";
import { eventually } from "../../support/eventually.ts";

type Limits = Partial<Parameters<typeof createHttpSender>[1]>;

/** An endpoint that counts the connections that are made to it. */
const startEndpoint = async (listener: RequestListener) => {
  const sockets: Socket[] = [];
  const server: Server = createServer(listener).listen(0, "127.0.0.1");
  server.on("connection", (socket) => sockets.push(socket));
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { sockets, port: (server.address() as AddressInfo).port };
};

/** A sender and the function that posts an event to a port by it. */
const startSender = (limits: Limits = {}, guard: AddressGuard = createAddressGuard(true)) => {
  const sender = createHttpSender(guard, { ...defaultSenderLimits, ...limits });
  onTestFinished(() => sender.close());
  const { signal } = new AbortController();
  return (port: number, bodyBytesMax?: number, host = "127.0.0.1") =>
    sender.send(
      { method: "POST", url: new URL(`http://${host}:${port}/`), headers: {}, body: "{}" },
      signal,
      bodyBytesMax,
    );
};

const answerAfterBody =
  (answer: RequestListener): RequestListener =>
  (request, response) =>
    void request.resume().on("end", () => answer(request, response));

describe("requests without an answer", () => {
  test("are given up a few in a turn of the event loop, however many began together", async () => {
    const { sockets, port } = await startEndpoint(() => {});
    const post = startSender({ requestMsMax: 1_000 });
    const codes: unknown[] = [];
    let endedMost = 0;
    let endedBefore = 0;
    const look = (): void => {
      endedMost = Math.max(endedMost, codes.length - endedBefore);
      endedBefore = codes.length;
      if (codes.length < 100) setImmediate(look);
    };
    look();
    await Promise.all(
      Array.from({ length: 100 }, () => post(port).catch((error: SendError) => void codes.push(error.code))),
    );
    expect(codes).toEqual(Array.from({ length: 100 }, () => "TIMEOUT"));
    expect(endedMost).toBeLessThanOrEqual(16);
    await eventually(() => sockets.every(({ destroyed }) => destroyed), "their connections have ended");
  });
});

describe("connections to an endpoint", () => {
  test("are used again, also after an answer with a body that nobody needs", async () => {
    const { sockets, port } = await startEndpoint(
      answerAfterBody((_request, response) => response.end("x".repeat(50_000))),
    );
    const post = startSender();
    for (let n = 0; n < 20; n += 1) expect((await post(port)).status).toBe(200);
    // The next request may start before the rest of a body has been dropped, so there can be a second connection.
    expect(sockets.length).toBeLessThanOrEqual(2);
  });

  test("are ended by a body that is too long, and the answer counts all the same", async () => {
    const { sockets, port } = await startEndpoint(
      answerAfterBody((_request, response) => {
        response.writeHead(202);
        const write = (): void =>
          void (response.writable && response.write("x".repeat(65_536), () => setImmediate(write)));
        write();
      }),
    );
    const post = startSender();
    expect(await post(port)).toEqual({ status: 202, retryAfter: undefined, body: "" });
    await eventually(() => sockets[0]?.destroyed === true, "the connection has ended");
  });

  test("carry an answer after others that are only the beginning of one", async () => {
    const { port } = await startEndpoint(
      answerAfterBody((_request, response) =>
        response.writeEarlyHints({ link: "</style.css>; rel=preload" }, () => response.writeHead(202).end()),
      ),
    );
    expect(await startSender()(port)).toMatchObject({ status: 202 });
  });

  test("are not more than the limit for one origin", async () => {
    const { sockets, port } = await startEndpoint(
      answerAfterBody((_request, response) => setImmediate(() => response.end())),
    );
    const post = startSender({ socketsPerOriginMax: 3 });
    await Promise.all(Array.from({ length: 30 }, () => post(port)));
    expect(sockets.length).toBe(3);
  });

  test("are not kept where too many are open", async () => {
    const { sockets, port } = await startEndpoint(answerAfterBody((_request, response) => void response.end()));
    const post = startSender({ socketsKeptMax: 0 });
    for (let n = 0; n < 3; n += 1) await post(port);
    expect(sockets.length).toBe(3);
  });

  test("are made again when their time is over, which looks the name up again", async () => {
    const { sockets, port } = await startEndpoint(answerAfterBody((_request, response) => void response.end()));
    const looked: string[] = [];
    const lookup: LookupFunction = (name, options, callback) => {
      looked.push(name);
      createAddressGuard(true).lookup(name, options, callback);
    };
    const post = startSender({ socketMsMax: 1 }, { check: () => {}, lookup });
    await eventually(async () => {
      await post(port, 0, "localhost");
      return sockets.length > 1;
    }, "another connection is made");
    expect(looked.length).toBe(sockets.length);
  });

  test("are made only to addresses that the guard allows at that moment", async () => {
    const { sockets, port } = await startEndpoint(answerAfterBody((_request, response) => void response.end()));
    let isForbidden = false;
    const lookup: LookupFunction = (name, options, callback) => {
      if (isForbidden) callback(new ForbiddenAddressError(`${name} is at a private address`), "", 0);
      else createAddressGuard(true).lookup(name, options, callback);
    };
    const post = startSender({}, { check: () => {}, lookup });
    await post(port, 0, "localhost");
    isForbidden = true;
    sockets[0]?.destroy();
    await expect(post(port, 0, "localhost")).rejects.toThrow(
      "The endpoint may not be reached: localhost is at a private address.",
    );
  });
});

describe("an endpoint that closes connections", () => {
  test("when a request comes on one that it has kept gets the request on a new one", async () => {
    const seen = new Set<Socket>();
    const { sockets, port } = await startEndpoint(
      answerAfterBody((request, response) => {
        if (seen.has(request.socket)) request.socket.destroy();
        else response.end();
        seen.add(request.socket);
      }),
    );
    const post = startSender();
    for (let n = 0; n < 5; n += 1) expect((await post(port)).status).toBe(200);
    // A connection that was made because a kept one was closed is not kept itself.
    expect(sockets.length).toBeGreaterThan(4);
  });

  test("without any answer gets a request once", async () => {
    let count = 0;
    const { port } = await startEndpoint(
      answerAfterBody((request) => {
        count += 1;
        request.socket.destroy();
      }),
    );
    await expect(startSender()(port)).rejects.toMatchObject({ code: "CONNECTION_FAILURE", isTransient: true });
    expect(count).toBe(1);
  });
});

describe("an answer", () => {
  test("is complete before a body that nobody needs", async () => {
    const { port } = await startEndpoint(answerAfterBody((_request, response) => void response.write("first")));
    expect((await startSender()(port)).status).toBe(200);
  });

  test("has the beginning of its body where that is needed", async () => {
    const { port } = await startEndpoint(
      answerAfterBody((_request, response) => void response.setHeader("retry-after", "7").end("0123456789")),
    );
    const post = startSender();
    expect(await post(port, 4)).toEqual({ status: 200, retryAfter: "7", body: "0123" });
    expect((await post(port, 100)).body).toBe("0123456789");
  });

  test("to a request that was given up is not waited for", async () => {
    const { port } = await startEndpoint(() => {});
    const sender = createHttpSender(createAddressGuard(true), defaultSenderLimits);
    onTestFinished(() => sender.close());
    const url = new URL(`http://127.0.0.1:${port}/`);
    const abort = new AbortController();
    const sent = sender.send({ method: "POST", url, headers: {}, body: "{}" }, abort.signal);
    abort.abort(new Error("the process stops"));
    await expect(sent).rejects.toThrow("the process stops");
    await expect(sender.send({ method: "POST", url, headers: {}, body: "{}" }, abort.signal)).rejects.toThrow(
      "the process stops",
    );
  });
});
