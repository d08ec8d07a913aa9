import type { Server, ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** What a refusal has besides its status. */
export interface RefusedBytes {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const nothing: RefusedBytes = { headers: {}, body: "" };

/**
 * Answers bytes that are no request of HTTP/1.1 with a status, and closes the connection. Once the head of an answer is
 * on its way there, the connection is cut instead: its client would read the status as a part of that answer's body.
 * `describe` unset: the answer has no body.
 */
export const refuseBroken = (
  server: Server,
  describe: (status: number, error: NodeJS.ErrnoException) => RefusedBytes = () => nothing,
): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === "ECONNRESET" || !socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const status = statuses[error.code ?? ""] ?? 400;
    const { headers, body } = describe(status, error);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\n${lines.join("")}` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    // A peer that never closes its own side would keep the connection for ever.
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
};

/** How long the peer has to read why its connection is closed. */
const lingerMs = 1_000;

const statuses: Readonly<Record<string, number>> = {
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The platform names the answer that is being sent on a connection only there. */
const isAnswering = (socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean =>
  socket._httpMessage?.headersSent === true;
