import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { connectRaw, endHeaders, frame, frames, grpcCall, headerBlock } from "./raw-http2.ts";
import { startTestServer } from "./test-service.ts";

test("a caller that is refused before its request has ended is told to send no more of it", async () => {
  const { server } = await startTestServer();
  onTestFinished(() => server.stop(0));
  const socket = await connectRaw(server.port);
  onTestFinished(() => void socket.destroy());
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const stranger = { ...grpcCall("Echo"), authorization: "Bearer mallory" };
  socket.write(frame(frames.headers, endHeaders, 1, headerBlock(stranger)));
  const withoutError = frame(frames.reset, 0, 1, Buffer.alloc(4));
  await eventually(() => Buffer.concat(chunks).includes(withoutError), "the stream is reset", 5_000);
  expect(socket.destroyed).toBe(false);
});
