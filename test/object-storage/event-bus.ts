import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

import { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import type { PutEventsRequest } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { anonymousCaller } from "../../services/kit/identity/caller.ts";
import type { Handlers } from "../../services/kit/server/handlers.ts";
import { pending } from "../../services/kit/server/handlers.ts";
import { startServer } from "../../services/kit/server/server.ts";
import { silentLogger } from "../support/silent-logger.ts";

/** What reached the bus, and with whose token. */
export interface Told {
  readonly request: PutEventsRequest;
  readonly authorization: string;
}

/** A port that nobody listens on at the moment. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** An event bus that takes events, after failing as often as asked. */
export const startEventBus = async (port: number, failures = 0): Promise<Told[]> => {
  const told: Told[] = [];
  let left = failures;
  const names = Object.keys(EventBusService.method) as (keyof typeof EventBusService.method)[];
  const others = names.filter((name) => name !== "putEvents");
  const handlers = {
    ...pending(EventBusService, ...others),
    putEvents: async (request: PutEventsRequest, context: { requestHeader: Headers }) => {
      if (left-- > 0) throw new ConnectError("the bus is busy", Code.Unavailable);
      told.push({ request, authorization: context.requestHeader.get("authorization") ?? "" });
      return { failedEntryCount: 0, entries: request.entries.map(() => ({ eventId: "1" })) };
    },
  } as unknown as Handlers<typeof EventBusService, object>;
  const server = await startServer({
    name: "event-bus",
    listen: { host: "127.0.0.1", port },
    services: [{ service: EventBusService, handlers, errors: ErrorReasonSchema, app: {} }],
    authenticate: async () => anonymousCaller,
    log: silentLogger,
  });
  onTestFinished(() => server.stop(100));
  return told;
};
