import type { IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { callbackify } from "node:util";

import { responseHeaders } from "./forwarded-headers.ts";
import type { ProxyRefusal } from "./refusal.ts";
import { refusalBody, upstreamRefusal } from "./refusal.ts";
import type { Connector } from "./service-connections.ts";
import { openConnection } from "./service-connections.ts";

/** A request to change from HTTP to another protocol. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes after the request's header. */
  readonly head: Buffer;
  readonly requestId: string;
  /** Scheme, host and port of the service. */
  readonly origin: string;
  readonly connect: Connector;
  readonly path: string;
  readonly headers: readonly string[];
  readonly answerTimeoutMs: number;
  /** Called with the status of the answer that the client gets. */
  readonly onStatus: (status: number) => void;
  readonly onFailure: (error: Error) => void;
}

/**
 * Opens a connection of its own to the service and, if the service agrees to the upgrade, connects the two sockets
 * until either side ends. Any other answer of the service is passed on.
 */
export const tunnel = (upgrade: Upgrade): void => {
  const { request, socket, head, origin, path, requestId } = upgrade;
  const url = new URL(origin);
  const outgoing = httpRequest({
    host: url.host,
    path,
    method: request.method,
    headers: [...upgrade.headers, "connection", "Upgrade", "upgrade", request.headers.upgrade ?? ""],
    createConnection: (_options, done) => {
      callbackify(openConnection)(upgrade.connect, url, done);
      return undefined;
    },
    timeout: upgrade.answerTimeoutMs,
  });
  socket.on("error", () => outgoing.destroy());
  socket.once("close", () => outgoing.destroy());
  outgoing.once("timeout", () => outgoing.destroy(Object.assign(new Error("no answer"), { code: "ETIMEDOUT" })));
  outgoing.once("error", (error) => {
    if (socket.destroyed) return;
    upgrade.onFailure(error);
    const refusal = upstreamRefusal(error);
    upgrade.onStatus(refusal.status);
    endWithRefusal(socket, refusal, requestId);
  });
  outgoing.once("upgrade", (answer, upstream, upstreamHead) => {
    upgrade.onStatus(101);
    upstream.setTimeout(0);
    const switched = ["connection", "Upgrade", "upgrade", answer.headers.upgrade ?? ""];
    socket.write(headerText(answer, [...responseHeaders(answer.rawHeaders), ...switched]));
    if (upstreamHead.length > 0) upstream.unshift(upstreamHead);
    if (head.length > 0) socket.unshift(head);
    join(socket, upstream);
    join(upstream, socket);
  });
  outgoing.once("response", (answer) => {
    upgrade.onStatus(answer.statusCode ?? 0);
    // The length of the body may be unknown, so the body ends with the connection.
    socket.write(headerText(answer, [...responseHeaders(answer.rawHeaders), "connection", "close"]));
    pipeline(answer, socket, () => socket.destroy());
  });
  outgoing.end();
};

/** How long one side may continue after the other ended, so that its last bytes still arrive. */
const lingerMs = 1_000;

/** Passes on what one side sends, no faster than the other reads it, and its end. */
const join = (from: Duplex, to: Duplex): void => {
  from.pipe(to);
  from.on("error", () => from.destroy());
  from.once("end", () => {
    const timer = setTimeout(() => {
      from.destroy();
      to.destroy();
    }, lingerMs);
    from.once("close", () => clearTimeout(timer));
  });
  from.once("close", () => {
    if (from.readableEnded) to.end();
    else to.destroy();
  });
};

/** Answers an upgrade with a refusal and closes, also the side of a client that keeps it open. */
export const endWithRefusal = (socket: Duplex, refusal: ProxyRefusal, requestId: string): void => {
  const body = refusalBody(refusal, requestId);
  socket.end(
    `HTTP/1.1 ${refusal.status} Refused\r\ncontent-type: application/json\r\nx-request-id: ${requestId}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
};

const headerText = (answer: IncomingMessage, headers: readonly string[]): Buffer => {
  let text = `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return Buffer.from(`${text}\r\n`, "latin1");
};
