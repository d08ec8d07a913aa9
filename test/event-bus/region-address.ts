import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { onTestFinished } from "vitest";

import type { EventBusClient } from "./harness.ts";

interface Entry {
  readonly Time: number;
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
  readonly Resources: string[];
  readonly EventBusName: string;
  readonly TraceHeader?: string;
}

/**
 * A region's public address, which passes PutEvents on to its event bus. A call that the event bus does not answer ends
 * without an answer here as well.
 */
export const startRegion = async () => {
  let client: EventBusClient | undefined;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on(
      "end",
      () =>
        void answer(Buffer.concat(parts).toString()).then(
          (text) => response.end(text),
          () => response.destroy(),
        ),
    );
  }).listen(0, "127.0.0.1");
  const answer = async (body: string): Promise<string> => {
    const { Entries } = JSON.parse(body) as { readonly Entries: Entry[] };
    const { entries } = await (client as EventBusClient).putEvents({
      entries: Entries.map(({ Time, Source, DetailType, Detail, Resources, EventBusName, TraceHeader }) => ({
        time: timestampFromMs(Time * 1_000),
        source: Source,
        detailType: DetailType,
        detail: Detail,
        resources: Resources,
        eventBusName: EventBusName,
        ...(TraceHeader !== undefined && { traceHeader: TraceHeader }),
      })),
    });
    return JSON.stringify({
      Entries: entries.map(({ eventId, errorCode }) => ({ EventId: eventId, ErrorCode: errorCode })),
    });
  };
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint: { url, region: "", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" },
    /** Sets the event bus to which calls are passed from now on. */
    serve: (served: EventBusClient) => (client = served),
  };
};
