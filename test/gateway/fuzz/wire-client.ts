import type { Socket } from "node:net";
import { connect } from "node:net";

import type { Framed } from "./framing.ts";

/** One answer, taken apart as HTTP/1.1 says. */
export interface WireAnswer {
  readonly status: number;
  /** By lower-case name; the last one counts. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the connection may carry another request. */
  readonly isReusable: boolean;
}

/** What came of a request: an answer, a connection that was closed without one, or bytes that are no answer. */
export type Outcome =
  | { readonly kind: "answer"; readonly answer: WireAnswer }
  | { readonly kind: "closed" }
  | { readonly kind: "silent" }
  | { readonly kind: "malformed"; readonly bytes: string };

/** How long an answer to a whole request may take, and how long a broken one is waited for before its end is told. */
const answerMsMax = 20_000;
const brokenMsMax = 60;

/** Sends requests one after the other over a connection that is kept as long as it lasts. */
export class WireClient {
  readonly #host: string;
  readonly #port: number;
  #socket: Socket | undefined;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port);
  }

  async exchange(request: Framed, isHead: boolean): Promise<Outcome> {
    // After a request that may be broken nobody can tell where the next answer begins.
    const socket = request.isWhole
      ? (this.#socket ?? connect(this.#port, this.#host))
      : connect(this.#port, this.#host);
    if (request.isWhole) this.#socket = undefined;
    const outcome = await talk(socket, request, isHead);
    const isKept = request.isWhole && outcome.kind === "answer" && outcome.answer.isReusable && !socket.destroyed;
    if (isKept) this.#socket = socket;
    else socket.destroy();
    return outcome;
  }

  close(): void {
    this.#socket?.destroy();
  }
}

const talk = (socket: Socket, request: Framed, isHead: boolean): Promise<Outcome> =>
  new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    let isClosed = false;
    const settle = (outcome: Outcome): void => {
      clearTimeout(limit);
      clearTimeout(broken);
      socket.removeAllListeners();
      socket.on("error", () => {});
      resolve(outcome);
    };
    const limit = setTimeout(() => settle({ kind: "silent" }), answerMsMax);
    const broken = request.isWhole ? undefined : setTimeout(() => socket.end(), brokenMsMax);
    const look = (): void => {
      const parsed = parseAnswer(received, isClosed, isHead);
      if (parsed === "incomplete" && !isClosed) return;
      if (parsed === "malformed" || parsed === "incomplete")
        settle(received.length === 0 ? { kind: "closed" } : { kind: "malformed", bytes: received.toString("latin1") });
      else settle({ kind: "answer", answer: parsed });
    };
    socket.on("data", (piece: Buffer) => {
      received = received.length === 0 ? piece : Buffer.concat([received, piece]);
      look();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      isClosed = true;
      look();
    });
    socket.write(request.bytes);
  });

/** Takes the first final answer off the bytes; interim answers before it are passed over. */
const parseAnswer = (bytes: Buffer, isClosed: boolean, isHead: boolean): WireAnswer | "incomplete" | "malformed" => {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return "incomplete";
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first)?.[1]);
  if (Number.isNaN(status)) return "malformed";
  const rest = bytes.subarray(end + 4);
  if (status === 100) return parseAnswer(rest, isClosed, isHead);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const match = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([^\r\n\0]*)$/.exec(line);
    if (match === null) return "malformed";
    headers[match[1]!.toLowerCase()] = match[2]!;
  }
  const isReusable = headers["connection"] !== "close";
  if (isHead || status === 204 || status === 304) return { status, headers, body: Buffer.alloc(0), isReusable };
  if (headers["transfer-encoding"] === "chunked") {
    const body = readChunks(rest);
    return typeof body === "string" ? body : { status, headers, body, isReusable };
  }
  const length = Number(headers["content-length"]);
  if (Number.isNaN(length)) return isClosed ? { status, headers, body: rest, isReusable: false } : "incomplete";
  return rest.length < length ? "incomplete" : { status, headers, body: rest.subarray(0, length), isReusable };
};

const readChunks = (bytes: Buffer): Buffer | "incomplete" | "malformed" => {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return "incomplete";
    const size = Number.parseInt(bytes.subarray(at, end).toString("latin1"), 16);
    if (Number.isNaN(size)) return "malformed";
    if (bytes.length < end + 2 + size + 2) return "incomplete";
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
};
