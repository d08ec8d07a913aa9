import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { handleUnaryCall } from "@grpc/grpc-js";
import { Server, ServerCredentials } from "@grpc/grpc-js";

import type { EchoRequest, EchoResponse } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { EchoRequestSchema, EchoResponseSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { startTestServer } from "../../kit/server/test-service.ts";
import { playPeer } from "./peer.ts";

/** What every server of this measurement answers. */
const echo = ({ text, labels, number, body }: EchoRequest) =>
  create(EchoResponseSchema, { text, labels, number, body, accountId: "111122223333" });

const echoHandler: handleUnaryCall<EchoRequest, EchoResponse> = (call, answer) => answer(null, echo(call.request));

const roles: Record<string, () => Promise<string>> = {
  kit: async () => (await startTestServer()).server.url,
  "kit-watched": async () => (await startTestServer({ metrics: createMetrics({ withProcess: true }) })).server.url,
  "kit-unix": async () => {
    const path = join(tmpdir(), `quartet-bench-${process.pid}.sock`);
    return (await startTestServer({ listen: { path } })).server.url;
  },
  "grpc-js": async () => {
    const server = new Server();
    server.addService(
      {
        echo: {
          path: "/quartet.test.v1.TestService/Echo",
          requestStream: false,
          responseStream: false,
          requestDeserialize: (bytes: Buffer) => fromBinary(EchoRequestSchema, bytes),
          requestSerialize: (message) => Buffer.from(toBinary(EchoRequestSchema, message)),
          responseDeserialize: (bytes: Buffer) => fromBinary(EchoResponseSchema, bytes),
          responseSerialize: (message) => Buffer.from(toBinary(EchoResponseSchema, message)),
        },
      },
      { echo: echoHandler },
    );
    return new Promise((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(`http://127.0.0.1:${port}`);
        else reject(error);
      });
    });
  },
  "node-http2": () =>
    bareGrpc((frame) =>
      grpcFrame(toBinary(EchoResponseSchema, echo(fromBinary(EchoRequestSchema, frame.subarray(5))))),
    ),
  "node-http2-constant": () => {
    let answer: Buffer | undefined;
    return bareGrpc((frame) => {
      answer ??= grpcFrame(toBinary(EchoResponseSchema, echo(fromBinary(EchoRequestSchema, frame.subarray(5)))));
      return answer;
    });
  },
  "node-http": async () => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = toBinary(EchoResponseSchema, echo(fromBinary(EchoRequestSchema, Buffer.concat(chunks))));
        response.writeHead(200, { "content-type": "application/proto", "content-length": body.length });
        response.end(body);
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
};

/** A gRPC server of `node:http2` alone, which checks nothing: how it answers the bytes of a request's frame. */
const bareGrpc = async (answerTo: (frame: Buffer) => Buffer): Promise<string> => {
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(answerTo(Buffer.concat(chunks)));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const grpcFrame = (message: Uint8Array): Buffer => {
  const frame = Buffer.alloc(5 + message.byteLength);
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, 5);
  return frame;
};

playPeer({ start: roles[process.argv[2] ?? ""] });
