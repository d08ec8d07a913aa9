import { Duplex } from "node:stream";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { ChannelInterface, ClientDuplexStream } from "@grpc/grpc-js";
import { connectivityState, Metadata, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";

import type { UploadRequestSchema, UploadResponse } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { startGrpcStream } from "../../../services/kit/client/grpc-stream-call.ts";

test("a call that found no connection takes no second message, though the channel has one by then", async () => {
  const noConnection = { code: status.UNAVAILABLE, details: "no connection", metadata: new Metadata() };
  // As grpc-js does it: the call fails at once, its status follows in the next turn of the event loop.
  const call = new Duplex({
    objectMode: true,
    read: () => {},
    write: (_message, _encoding, done) => {
      setImmediate(() => call.emit("status", noConnection));
      done();
    },
  });
  const target = "127.0.0.1:50050";
  Object.assign(call, { getPeer: () => target, cancel: () => {} });
  const channel = { getConnectivityState: () => connectivityState.READY, getTarget: () => target };
  const taken: string[] = [];
  const requests = async function* () {
    for (const name of ["first", "second"]) {
      taken.push(name);
      yield { name };
    }
  };
  const answer = startGrpcStream(
    call as unknown as ClientDuplexStream<MessageInitShape<typeof UploadRequestSchema>, UploadResponse>,
    TestService.method.upload,
    undefined,
    requests(),
    channel as unknown as ChannelInterface,
  );
  await expect(answer).rejects.toMatchObject({ code: Code.Unavailable, rawMessage: "no connection" });
  expect(taken).toEqual(["first"]);
});
