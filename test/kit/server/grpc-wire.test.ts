import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { connect, constants } from "node:http2";
import { gunzipSync, gzipSync } from "node:zlib";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ServiceError as GrpcError } from "@grpc/grpc-js";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import {
  CountRequestSchema,
  EchoRequestSchema,
  EchoResponseSchema,
  Failure,
  RefuseRequestSchema,
  UploadRequestSchema,
} from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { startTestServer } from "./test-service.ts";

let server: RunningServer;

beforeEach(async () => {
  ({ server } = await startTestServer());
});
afterEach(() => server.stop(0));

describe("a stock gRPC client", () => {
  const refusalOf = async (thing: string): Promise<GrpcError> => {
    const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", "Bearer alice");
    const error = await new Promise<GrpcError>((resolve) => {
      client.makeUnaryRequest(
        "/quartet.test.v1.TestService/Refuse",
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes) => bytes,
        toBinary(RefuseRequestSchema, create(RefuseRequestSchema, { failure: Failure.DECLARED, thing })),
        metadata,
        (refusal) => resolve(refusal as GrpcError),
      );
    });
    client.close();
    return error;
  };

  test("sees the message as it was made, whatever characters it has", async () => {
    const thing = "a: b, c/d? e&f=g; 100 % %3A #1 @x +$ ü 🐈\n\t";
    expect((await refusalOf(thing)).details).toBe(`There is no ${thing}.`);
  });

  test("sees the status, the message and the details of a refusal", async () => {
    const error = await refusalOf("größte");
    expect(error.code).toBe(status.NOT_FOUND);
    expect(error.details).toBe("There is no größte.");
    const { details } = fromBinary(StatusSchema, error.metadata.get("grpc-status-details-bin")[0] as Buffer);
    expect(details[0]?.typeUrl).toBe("type.googleapis.com/google.rpc.ErrorInfo");
    expect(fromBinary(ErrorInfoSchema, details[0]?.value ?? new Uint8Array())).toMatchObject({
      reason: "THING_MISSING",
      domain: "test.quartet",
      metadata: { thing: "größte" },
    });
  });
});

describe("on the wire of gRPC", () => {
  let session: ClientHttp2Session;
  beforeEach(() => {
    session = connect(server.url);
  });
  afterEach(() => session.destroy());

  test("a failure before the first message is sent in the headers alone", async () => {
    const body = toBinary(RefuseRequestSchema, create(RefuseRequestSchema, { failure: Failure.DECLARED, thing: "x" }));
    const { headers, trailers, flags } = await request(session, "Refuse", frame(body));
    expect(headers).toMatchObject({ ":status": 200, "grpc-status": "5", "grpc-message": "There is no x." });
    expect(flags & constants.NGHTTP2_FLAG_END_STREAM).toBe(constants.NGHTTP2_FLAG_END_STREAM);
    expect(trailers).toBeUndefined();
  });

  test("a failure after messages is sent in the trailers", async () => {
    const body = toBinary(CountRequestSchema, create(CountRequestSchema, { last: 2, failure: Failure.DECLARED }));
    const { headers, trailers } = await request(session, "Count", frame(body));
    expect(headers["grpc-status"]).toBeUndefined();
    expect(trailers).toMatchObject({ "grpc-status": "5" });
  });

  test("a failure is sent in whole while the caller is still sending, and the caller is made to stop", async () => {
    const head = { name: "headers", failure: Failure.DECLARED };
    const body = frame(toBinary(UploadRequestSchema, create(UploadRequestSchema, head)));
    const { headers, trailers } = await request(session, "Upload", body, {}, (stream) => stream.write(body));
    expect(headers["x-upload"]).toBe("seen");
    expect(trailers).toMatchObject({ "grpc-status": "5", "grpc-message": "There is no headers." });
  });

  test("a method that nobody offers is unimplemented", async () => {
    const { headers } = await request(session, "Missing", frame(new Uint8Array()));
    expect(headers).toMatchObject({ ":status": 200, "grpc-status": "12" });
  });

  test("a compressed request is read and its answer compressed", async () => {
    const text = "again and ".repeat(500);
    const body = gzipSync(toBinary(EchoRequestSchema, create(EchoRequestSchema, { text })));
    const answer = await request(session, "Echo", frame(body, 1), { "grpc-encoding": "gzip" });
    expect(answer.headers["grpc-encoding"]).toBe("gzip");
    expect(answer.body[0]).toBe(1);
    expect(fromBinary(EchoResponseSchema, gunzipSync(answer.body.subarray(5))).text).toBe(text);
  });

  test.each([
    // what, frames, headers, status
    ["no message", Buffer.alloc(0), {}, "12"],
    ["half a message", frame(new Uint8Array(10)).subarray(0, 9), {}, "12"],
    ["two messages", Buffer.concat([frame(new Uint8Array()), frame(new Uint8Array())]), {}, "12"],
    ["bytes that are no message", frame(new Uint8Array([0x0a, 0x50, 1])), {}, "3"],
    ["a compressed message without an encoding", frame(new Uint8Array(), 1), {}, "13"],
    ["an unknown encoding", frame(new Uint8Array()), { "grpc-encoding": "snappy" }, "12"],
    ["broken gzip", frame(new Uint8Array([1, 2, 3]), 1), { "grpc-encoding": "gzip" }, "3"],
    ["a malformed deadline", frame(new Uint8Array()), { "grpc-timeout": "soon" }, "3"],
  ])("refuses %s", async (_what, frames, headers, expected) => {
    const answer = await request(session, "Echo", frames, headers);
    expect(answer.headers["grpc-status"]).toBe(expected);
  });
});

const frame = (body: Uint8Array, flags = 0): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};

interface WireAnswer {
  readonly headers: IncomingHttpHeaders & IncomingHttpStatusHeader;
  readonly flags: number;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders | undefined;
}

const request = (
  session: ClientHttp2Session,
  method: string,
  body: Uint8Array,
  headers: Record<string, string> = {},
  send: (stream: ClientHttp2Stream) => void = (stream) => stream.end(body),
): Promise<WireAnswer> =>
  new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": `/quartet.test.v1.TestService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: "Bearer alice",
      ...headers,
    });
    const chunks: Buffer[] = [];
    let first: { headers: WireAnswer["headers"]; flags: number } | undefined;
    let trailers: IncomingHttpHeaders | undefined;
    stream.on("response", (received, flags) => {
      first = { headers: received, flags };
    });
    stream.on("trailers", (received) => {
      trailers = received;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      if (first === undefined) reject(new Error("no answer"));
      else resolve({ ...first, body: Buffer.concat(chunks), trailers });
    });
    send(stream);
  });
