import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { text } from "node:stream/consumers";

import { expect, onTestFinished, test } from "vitest";

import { refuseBroken } from "../../../services/kit/server/broken-requests.ts";
import { sendRaw } from "../../support/raw-request.ts";

const start = async (listener: RequestListener, describe?: Parameters<typeof refuseBroken>[1]): Promise<number> => {
  const server = createServer({ maxHeaderSize: 1_024 }, listener);
  refuseBroken(server, describe);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

test.each([
  ["a line that is none", "GET / HTTP/1.1\r\nfoo\r\n\r\n", 400],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ["a long header", `GET / HTTP/1.1\r\na: ${"x".repeat(2_000)}\r\n\r\n`, 431],
  [
    "many extensions of a chunk",
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;${"x".repeat(20_000)}\r\n`,
    413,
  ],
])("%s is answered with its status alone", async (_what, bytes, status) => {
  const port = await start(() => {});
  expect(await sendRaw(port, bytes)).toMatch(
    new RegExp(`^HTTP/1\\.1 ${status} [A-Za-z ]+\\r\\nconnection: close\\r\\ncontent-length: 0\\r\\n\\r\\n$`),
  );
});

test("a refusal has the headers and the body that the server gives it", async () => {
  const port = await start(
    () => {},
    (status, { code }) => ({ headers: { "x-a": "b" }, body: `${status} ${code} é` }),
  );
  expect(await sendRaw(port, "nonsense\r\n\r\n")).toBe(
    "HTTP/1.1 400 Bad Request\r\nconnection: close\r\nx-a: b\r\ncontent-length: 25\r\n\r\n400 HPE_INVALID_METHOD Ã©",
  );
});

test("a broken body is refused as long as its request has no answer", async () => {
  const port = await start(() => {});
  const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect(await sendRaw(port, `${head}0x5\r\nhello`)).toMatch(/^HTTP\/1\.1 400 /);
});

test("an answer that is on its way is cut, with no bytes but its own", async () => {
  const port = await start((_request, response) => {
    response.writeHead(200, { "content-length": 1_000 });
    response.write("half");
  });
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const [first] = (await once(socket, "data")) as [Buffer];
  const rest = text(socket).catch(() => "");
  socket.write("nonsense\r\n\r\n");
  expect(first.toString() + (await rest)).toMatch(/\r\n\r\nhalf$/);
});
