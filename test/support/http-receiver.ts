import { once } from "node:events";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One request that a receiver was sent, body whole. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A local HTTP endpoint that keeps what it is sent. */
export interface HttpReceiver {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** What the receiver answers; unset: status 200 with an empty body. */
export type Answer = (request: Received) => {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
};

/** Listens on a free port of the loopback interface. */
export const startHttpReceiver = async (answer: Answer = () => ({ status: 200 })): Promise<HttpReceiver> => {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const whole = { method, url, headers, body: Buffer.concat(parts) };
      received.push(whole);
      const { status, body = "", headers: answered = {} } = answer(whole);
      response.writeHead(status, answered).end(body);
    });
  };
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
