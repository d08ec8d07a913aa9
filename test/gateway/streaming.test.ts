import { once } from "node:events";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { connect } from "node:net";

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import type { PutBookRequest } from "../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import { ErrorReason, ErrorReasonSchema } from "../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { faultsOf } from "../../services/kit/faults/service-error.ts";
import { openUpload } from "../../services/kit/server/upload.ts";
import { contentEndHeader } from "../../services/kit/wire/content-end.ts";
import { eventually } from "../support/eventually.ts";
import type { Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";
import { send } from "./support/signing-client.ts";

const fault = faultsOf(ErrorReasonSchema);
const mebibyte = 1024 * 1024;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.received.length = 0;
});

/** A connection on which a test writes and reads bytes itself. */
const openSocket = async (): Promise<{ socket: Socket; text: () => string }> => {
  const { hostname, port } = new URL(fixture.url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece: string) => {
    text += piece;
  });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return { socket, text: () => text };
};

const headOf = (method: string, target: string, headers: Readonly<Record<string, string>>): string =>
  `${method} ${target} HTTP/1.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;

/** An upload signed with a hash that covers no body, so that tests can send whatever they like. */
const signUpload = (target: string, headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  fixture.sign("object-storage", "amz", {
    method: "PUT",
    target,
    headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", ...headers },
  });

describe("a streamed request", () => {
  test("a small body comes in the first message, with every other member", async () => {
    fixture.answer("PutBook", () => ({ eTag: '"abc"', bookClass: 2 }));
    const response = await fixture.call("object-storage", "amz", {
      method: "PUT",
      target: "/novels/emma%20(1).txt",
      headers: {
        "content-type": "text/plain",
        "content-encoding": "gzip,aws-chunked",
        expires: "Fri, 02 Jan 2026 03:04:05 GMT",
        "x-amz-book-class": "aws:lock",
        "x-amz-lock-aws-kms-key-id": "key",
        "x-amz-meta-author": "Jane Austen",
      },
      body: "Emma Woodhouse",
    });
    expect(fixture.received).toMatchObject([
      {
        method: "PutBook",
        message: {
          shelf: "novels",
          book: "emma (1).txt",
          contentLength: "14",
          contentType: "text/plain",
          contentEncoding: "gzip",
          expires: "2026-01-02T03:04:05Z",
          bookClass: "BOOK_CLASS_LOCKED",
          lockKeyId: "key",
          metadata: { author: "Jane Austen" },
        },
        body: "Emma Woodhouse",
      },
    ]);
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({ etag: '"abc"', "x-amz-book-class": "aws:lock" });
  });

  // Small bodies are read whole, larger ones passed on.
  test.each([10, 200_000])(
    "with a header that is not of its type is refused with a body of %d bytes",
    async (bytes) => {
      const response = await fixture.call("object-storage", "amz", {
        method: "PUT",
        target: "/novels/emma",
        headers: { expires: "tomorrow", "x-amz-book-class": "nonsense" },
        body: "x".repeat(bytes),
      });
      expect(response.status).toBe(400);
      expect(response.body).toContain("nonsense");
      expect(fixture.received).toEqual([]);
    },
  );

  test("gives its connection to the service back, so that as many as there are connections can follow", async () => {
    let connections = 0;
    const count = (): void => void (connections += 1);
    subscribe("undici:client:connected", count);
    onTestFinished(() => void unsubscribe("undici:client:connected", count));
    for (let upload = 0; upload < 20; upload += 1)
      await fixture.call("object-storage", "amz", { method: "PUT", target: "/novels/emma", body: "Emma" });
    expect(fixture.received).toHaveLength(20);
    expect(connections).toBeLessThanOrEqual(1);
  });

  test("headers that a signer of URLs put in the query count, but for the checksum of a body it did not have", async () => {
    const target =
      "/novels/emma?x-amz-meta-author=Jane%20Austen&X-Amz-Book-Class=STANDARD&x-amz-checksum-crc32=AAAAAA%3D%3D";
    await send(fixture.url, { method: "PUT", target, body: "Emma" }, {});
    expect(fixture.received[0]?.message).toEqual({
      shelf: "novels",
      book: "emma",
      contentLength: "4",
      bookClass: "BOOK_CLASS_STANDARD",
      metadata: { author: "Jane Austen" },
    });
  });

  test("required query parameters make an upload one of a part", async () => {
    await fixture.call("object-storage", "svc", {
      method: "PUT",
      target: "/novels/emma?partNumber=2&uploadId=u",
      body: "x",
    });
    expect(fixture.received).toMatchObject([
      { method: "PutPart", message: { shelf: "novels", book: "emma", partNumber: 2, uploadId: "u" }, body: "x" },
    ]);
  });

  test("chunks are taken apart, their length told decoded, and trailers come in a last message", async () => {
    const headers = signUpload("/novels/emma", {
      "content-encoding": "aws-chunked",
      "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
      "x-amz-decoded-content-length": "11",
      "x-amz-trailer": "x-amz-checksum-crc32",
      "transfer-encoding": "chunked",
    });
    const body = "b\r\nhello world\r\n0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n\r\n";
    const { socket, text } = await openSocket();
    socket.write(headOf("PUT", "/novels/emma", headers));
    socket.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    await eventually(() => text().includes("\r\n\r\n"), "the upload is answered");
    socket.destroy();
    expect(fixture.received).toMatchObject([
      { message: { contentLength: "11" }, body: "hello world", last: { checksum: "DUoRhQ==" } },
    ]);
    expect(fixture.received[0]?.message).not.toHaveProperty("contentEncoding");
  });

  test.each([
    // what the head says of the body, the body of 100,000 bytes, what the service is told before it arrives
    [{ "x-amz-content-sha256": "UNSIGNED-PAYLOAD" }, "x".repeat(100_000), "1"],
    [
      {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": "100000",
        "x-amz-trailer": "x-amz-checksum-crc32",
      },
      `186a0\r\n${"x".repeat(100_000)}\r\n0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n\r\n`,
      null,
    ],
  ])("tells the service whether nothing follows the body: %j", async (headers, body, told) => {
    const seen: (string | null)[] = [];
    fixture.answer("PutBook", async ({ requestHeader }, requests) => {
      seen.push(requestHeader.get(contentEndHeader));
      for await (const _message of requests);
      return {};
    });
    const request = { method: "PUT", target: "/novels/emma", headers };
    const response = await send(fixture.url, { ...request, body }, fixture.sign("object-storage", "amz", request));
    fixture.answer("PutBook", () => ({}));
    expect(response.status).toBe(200);
    expect(seen).toEqual([told]);
  });

  test("a body whose hash is wrong is refused, and the service never takes it for whole", async () => {
    const seen: string[] = [];
    fixture.answer("PutBook", async (_context, requests) => {
      try {
        const { body } = await openUpload(requests as AsyncIterable<PutBookRequest>, "body");
        for await (const piece of body) seen.push(`${piece.length} bytes`);
        seen.push("whole");
      } catch {
        seen.push("broken off");
      }
      return {};
    });
    const book = "Emma ".repeat(mebibyte);
    const request = { method: "PUT", target: "/novels/emma", body: book };
    const headers = fixture.sign("object-storage", "amz", request);
    const response = await send(fixture.url, { ...request, body: `${book.slice(1)}!` }, headers);
    fixture.answer("PutBook", () => ({}));
    expect(response.status).toBe(400);
    expect(response.body).toContain("<Code>XAmzContentSHA256Mismatch</Code>");
    await eventually(() => seen.at(-1) === "broken off", "the service sees the stream end early");
    expect(seen).not.toContain("whole");
  });

  test("a body that stops half-way is broken off towards the service", async () => {
    let outcome = "";
    fixture.answer("PutBook", async (_context, requests) => {
      try {
        for await (const _message of requests) outcome = "begun";
        outcome = "whole";
      } catch {
        outcome = "broken off";
      }
      return {};
    });
    const { socket } = await openSocket();
    socket.write(headOf("PUT", "/novels/emma", { ...signUpload("/novels/emma"), "content-length": "100000" }));
    socket.write("half");
    await eventually(() => outcome === "begun", "the service has the first bytes");
    socket.destroy();
    expect(await eventually(() => outcome !== "begun" && outcome, "the service sees the stream end")).toBe(
      "broken off",
    );
    fixture.answer("PutBook", () => ({}));
  });

  test("a small body that stops half-way never reaches the service", async () => {
    const { socket } = await openSocket();
    socket.write(headOf("PUT", "/novels/emma", { ...signUpload("/novels/emma"), "content-length": "10" }));
    socket.end("half");
    await once(socket, "close");
    await fixture.call("object-storage", "amz", { method: "GET", target: "/novels?marker=after" });
    expect(fixture.received.map(({ method }) => method)).toEqual(["ListBooks"]);
  });

  test("the body is in messages of its own if it is large, or its client waits to be asked for it", async () => {
    const large = "x".repeat(64 * 1024 + 1);
    fixture.answer("PutBook", () => ({}));
    await fixture.call("object-storage", "amz", { method: "PUT", target: "/novels/large", body: large });
    const { socket, text } = await openSocket();
    const awaiting = { ...signUpload("/novels/small"), expect: "100-continue", "content-length": "4" };
    socket.write(headOf("PUT", "/novels/small", awaiting));
    await eventually(() => text().includes("100 Continue"), "the body is asked for");
    socket.end("Emma");
    await eventually(() => fixture.received.length === 2, "both have arrived");
    expect(fixture.received.map(({ body, firstBytes }) => [body, firstBytes])).toEqual([
      [large, 0],
      ["Emma", 0],
    ]);
  });

  test("a service that does not read holds the client back instead of filling memory", async () => {
    const held = Promise.withResolvers<void>();
    let size = 0;
    fixture.answer("PutBook", async (_context, requests) => {
      const { body } = await openUpload(requests as AsyncIterable<PutBookRequest>, "body");
      await held.promise;
      for await (const piece of body) size += piece.length;
      return {};
    });
    const total = 64 * mebibyte;
    const { socket, text } = await openSocket();
    socket.write(headOf("PUT", "/novels/emma", { ...signUpload("/novels/emma"), "content-length": String(total) }));
    let sent = 0;
    const piece = Buffer.alloc(mebibyte);
    const pump = (): void => {
      while (sent < total) {
        sent += piece.length;
        if (!socket.write(piece)) {
          socket.once("drain", pump);
          return;
        }
      }
    };
    const before = process.memoryUsage().arrayBuffers;
    pump();
    let last = -1;
    await eventually(() => {
      const isStill = sent === last;
      last = sent;
      return isStill && sent > 0;
    }, "the client is held back");
    expect(sent).toBeLessThan(total / 2);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(total / 2);
    held.resolve();
    await eventually(() => text().startsWith("HTTP/1.1 200"), "the upload is answered");
    socket.destroy();
    expect(size).toBe(total);
    fixture.answer("PutBook", () => ({}));
  });
});

describe("a client that waits for 100 Continue", () => {
  test("is asked for the body of a good request", async () => {
    fixture.answer("PutBook", () => ({ eTag: "1" }));
    const { socket, text } = await openSocket();
    socket.write(
      headOf("PUT", "/novels/emma", {
        ...signUpload("/novels/emma", { expect: "100-continue" }),
        "content-length": "4",
      }),
    );
    await eventually(() => text().includes("HTTP/1.1 100 Continue\r\n\r\n"), "the body is asked for");
    socket.write("Emma");
    await eventually(() => text().includes("HTTP/1.1 200 OK"), "the upload is answered");
    socket.destroy();
    expect(fixture.received[0]?.body).toBe("Emma");
  });

  test("is not asked when the service refuses before it takes the content", async () => {
    fixture.answer("PutBook", async (_context, requests) => {
      await requests[Symbol.asyncIterator]().next();
      throw fault(ErrorReason.NO_SUCH_BOOK, { book_name: "emma" });
    });
    const { socket, text } = await openSocket();
    const headers = signUpload("/novels/emma", { expect: "100-continue" });
    socket.write(headOf("PUT", "/novels/emma", { ...headers, "content-length": "4" }));
    await eventually(() => text().includes("</Error>"), "the upload is refused");
    expect(text()).not.toContain("100 Continue");
    expect(text()).toContain("HTTP/1.1 404");
    await eventually(() => socket.closed, "the connection ends");
    fixture.answer("PutBook", () => ({}));
  });

  test.each([
    // what is wrong, target, signed headers, headers that change on the way, status, words of the refusal
    ["the signature", "/novels/emma", {}, { "x-amz-date": "20260102T030406Z" }, 403, "SignatureDoesNotMatch"],
    ["the route", "/novels?uploads", {}, {}, 501, "NotImplemented"],
    ["a member", "/novels/emma", { "x-amz-book-class": "PAPER" }, {}, 400, "enum value set: [STANDARD, aws:lock]"],
  ])("is refused without being asked when %s is wrong", async (_what, target, signed, changed, status, words) => {
    const headers = signUpload(target, { expect: "100-continue", ...signed });
    const { socket, text } = await openSocket();
    socket.write(headOf("PUT", target, { ...headers, "content-length": "4", ...changed }));
    await eventually(() => text().includes("</Error>"), "the upload is refused");
    expect(text()).not.toContain("100 Continue");
    expect(text()).toContain(`HTTP/1.1 ${status}`);
    expect(text()).toContain(words);
    expect(text().toLowerCase()).toContain("connection: close");
    await eventually(() => socket.closed, "the connection ends");
  });
});

describe("a request that is refused before its body was read", () => {
  test("does not hold up the next request on its connection", async () => {
    fixture.answer("PutBook", () => {
      throw fault(ErrorReason.NO_SUCH_BOOK, { book_name: "emma" });
    });
    const { socket, text } = await openSocket();
    const body = "x".repeat(mebibyte);
    socket.write(
      headOf("PUT", "/novels/emma", { ...signUpload("/novels/emma"), "content-length": String(body.length) }),
    );
    socket.write(body);
    const next = fixture.sign("object-storage", "amz", { method: "GET", target: "/" });
    socket.write(headOf("GET", "/", next));
    await eventually(() => text().includes("ListShelves"), "the next request is answered");
    socket.destroy();
    fixture.answer("PutBook", () => ({}));
    expect(text()).toContain("HTTP/1.1 404");
    expect(text()).toContain("<Code>NoSuchVolume</Code>");
  });

  test("may lose its client before the rest of the body came", async () => {
    fixture.answer("PutBook", async () => {
      throw fault(ErrorReason.NO_SUCH_BOOK, { book_name: "emma" });
    });
    const { socket, text } = await openSocket();
    socket.write(headOf("PUT", "/novels/emma", { ...signUpload("/novels/emma"), "content-length": "1000000" }));
    socket.write("half of it");
    await eventually(() => text().includes("</Error>"), "the upload is refused");
    socket.destroy();
    fixture.answer("PutBook", () => ({}));
    const after = await fixture.call("object-storage", "amz", { method: "PUT", target: "/novels/emma", body: "Emma" });
    expect(after.status).toBe(200);
  });

  test("may have no body: each byte of it alone, or right before the next request", async () => {
    const { socket, text } = await openSocket();
    const form = headOf("POST", "/novels", { host: "localhost", "content-type": "multipart/form-data; boundary=b" });
    const list = headOf("GET", "/", fixture.sign("object-storage", "amz", { method: "GET", target: "/" }));
    for (const byte of form) await new Promise<void>((resolve) => void socket.write(byte, () => resolve()));
    await eventually(() => text().includes("</Error>"), "the form is refused");
    for (const byte of list) await new Promise<void>((resolve) => void socket.write(byte, () => resolve()));
    await eventually(() => text().includes("ListShelves"), "the list is answered");
    socket.write(form + list + list);
    await eventually(() => text().split("HTTP/1.1 ").length === 6, "all are answered");
    socket.destroy();
    expect(text().match(/HTTP\/1\.1 \d+/g)).toEqual([400, 200, 400, 200, 200].map((each) => `HTTP/1.1 ${each}`));
  });

  test("an upload without a length is refused", async () => {
    const { socket, text } = await openSocket();
    socket.write(headOf("PUT", "/novels/emma", signUpload("/novels/emma")));
    await eventually(() => text().includes("</Error>"), "the upload is refused");
    socket.destroy();
    expect(text()).toContain("HTTP/1.1 411");
    expect(text()).toContain("<Code>MissingContentLength</Code>");
  });
});

describe("a streamed answer", () => {
  const stored = { contentLength: 11n, contentType: "text/plain", metadata: { author: "Jané" } };

  test("has the status and headers of its first message and the bytes of all", async () => {
    fixture.answer("GetBook", async function* () {
      yield { ...stored, statusCode: 206, body: Buffer.from("Emma ") };
      yield { body: Buffer.from("Wood") };
      yield { body: Buffer.from("ho") };
    });
    const response = await fixture.call("object-storage", "amz", {
      method: "GET",
      target: "/novels/emma?response-content-type=text%2Fhtml",
      headers: { range: "bytes=0-10" },
    });
    expect(fixture.received[0]?.message).toEqual({
      shelf: "novels",
      book: "emma",
      range: "bytes=0-10",
      responseContentType: "text/html",
    });
    expect(response.status).toBe(206);
    expect(response.headers).toMatchObject({ "content-length": "11", "content-type": "text/plain" });
    expect(Buffer.from(String(response.headers["x-amz-meta-author"]), "latin1").toString("utf8")).toBe("Jané");
    expect(response.body).toBe("Emma Woodho");
  });

  test("an answer whose length is not known is chunked", async () => {
    fixture.answer("GetBook", async function* () {
      yield { body: Buffer.from("Em") };
      yield { body: Buffer.from("ma") };
    });
    const response = await fixture.call("object-storage", "amz", { method: "GET", target: "/novels/emma" });
    expect(response.headers["transfer-encoding"]).toBe("chunked");
    expect(response.body).toBe("Emma");
  });

  test("a status of 304 has the headers of the refusal and no body", async () => {
    fixture.answer("GetBook", async function* (context) {
      context.responseHeader.set("etag", '"1"');
      yield* refuse();
    });
    const response = await fixture.call("object-storage", "amz", {
      method: "GET",
      target: "/novels/emma",
      headers: { "if-none-match": '"1"' },
    });
    expect(response.status).toBe(304);
    expect(response.body).toBe("");
    expect(response.headers).toMatchObject({ etag: '"1"' });
    expect(response.headers["content-type"]).toBeUndefined();
  });

  test("a client that goes away stops the service", async () => {
    let stopped = false;
    fixture.answer("GetBook", async function* (context) {
      context.signal.addEventListener("abort", () => {
        stopped = true;
      });
      for (;;) yield { body: Buffer.alloc(64 * 1024) };
    });
    const { socket, text } = await openSocket();
    socket.write(
      headOf("GET", "/novels/emma", fixture.sign("object-storage", "amz", { method: "GET", target: "/novels/emma" })),
    );
    await eventually(() => text().startsWith("HTTP/1.1 200"), "the answer begins");
    socket.destroy();
    expect(await eventually(() => stopped, "the service is stopped")).toBe(true);
  });

  test("a client that does not read holds the service back", async () => {
    let made = 0;
    fixture.answer("GetBook", async function* (context) {
      while (made < 256 && !context.signal.aborted) {
        made += 1;
        yield { body: Buffer.alloc(mebibyte) };
      }
    });
    const { hostname, port } = new URL(fixture.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(
      headOf("GET", "/novels/emma", fixture.sign("object-storage", "amz", { method: "GET", target: "/novels/emma" })),
    );
    let last = -1;
    await eventually(() => {
      const isStill = made === last && made > 0;
      last = made;
      return isStill;
    }, "the service is held back");
    socket.destroy();
    expect(made).toBeLessThan(128);
  });
});

// oxlint-disable-next-line require-yield -- a stream that refuses before its first message
async function* refuse(): AsyncGenerator<object> {
  throw fault(ErrorReason.NOT_MODIFIED);
}
