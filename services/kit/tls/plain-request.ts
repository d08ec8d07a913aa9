import type { Socket } from "node:net";

/** What OpenSSL says of a connection that begins with a request of HTTP instead of a handshake. */
const plainRequests: ReadonlySet<string | undefined> = new Set(["ERR_SSL_HTTP_REQUEST", "ERR_SSL_HTTPS_PROXY_REQUEST"]);

const text = "This port speaks HTTPS: use an https:// address.\n";
const answer =
  "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n" +
  `content-length: ${text.length}\r\n\r\n${text}`;

/**
 * Answers a request that came without TLS, by the connection on which the handshake was to be, and that is closed next.
 * Other failures of a handshake have no answer.
 */
export const refusePlainRequest = (failure: NodeJS.ErrnoException, connection: Socket | undefined): void => {
  if (plainRequests.has(failure.code) && connection?.writable === true) connection.write(answer);
};
