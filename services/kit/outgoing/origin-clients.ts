import { TLSSocket } from "node:tls";

import type { buildConnector, Dispatcher } from "undici";
import { Client } from "undici";

/** A request that a client carries. */
type Exchange = Dispatcher.DispatchHandler & {
  /** Whether it has got its answer, or an error. */
  readonly isEnded: boolean;
};

/** How an origin is connected to. */
export interface OriginOptions {
  readonly client: Omit<Client.Options, "connect">;
  readonly connect: buildConnector.connector;
  /** TCP connections at the same time. */
  readonly socketsMax: number;
  /** Milliseconds after which a connection is used for no further request. */
  readonly socketMsMax: number;
  readonly onConnect: () => void;
  readonly onDisconnect: () => void;
  /** No connection is left, and no request waits for one. */
  readonly onUnused: () => void;
}

/** A client, which has at most one connection at a time. */
interface KeptClient {
  readonly client: Client;
  isFree: boolean;
  isConnected: boolean;
  connectedMs: number;
}

/** A request that waits for a client. */
interface Waiting {
  readonly options: Dispatcher.DispatchOptions;
  readonly exchange: Exchange;
}

/**
 * The connections to one origin. A request is sent on the one that became free last, so that those which are not needed
 * end by themselves. undici's pool looks at each of its clients for each request, and makes one more in advance.
 */
export class OriginClients {
  readonly #origin: string;
  readonly #options: OriginOptions;
  readonly #clients = new Set<KeptClient>();
  /** Clients that take a request at once; the one that became free last is at the end. */
  readonly #free: KeptClient[] = [];
  /** The first request first. While there is one, no client is free. */
  readonly #waiting: Waiting[] = [];
  /** The client that may take all requests that wait, because its connection carries many. */
  #probe: KeptClient | undefined;
  /** Whether connections carry one request at a time, so that requests wait for no probe. */
  #isProbed: boolean;

  constructor(origin: string, options: OriginOptions) {
    this.#origin = origin;
    this.#options = options;
    // Only TLS agrees on HTTP/2.
    this.#isProbed = !origin.startsWith("https:");
  }

  /** Sends a request as soon as a client is free, or may be made. */
  dispatch(options: Dispatcher.DispatchOptions, exchange: Exchange): void {
    const kept = this.#waiting.length === 0 ? this.#take() : undefined;
    if (kept === undefined) this.#waiting.push({ options, exchange });
    else this.#send(kept, { options, exchange });
  }

  /** Ends all requests and connections. */
  async destroy(error: Error): Promise<void> {
    for (const { exchange } of this.#waiting.splice(0)) exchange.onResponseError?.(null as never, error);
    for (const { client } of this.#clients) await client.destroy(error);
  }

  #take(): KeptClient | undefined {
    for (let kept = this.#free.pop(); kept !== undefined; kept = this.#free.pop()) {
      kept.isFree = false;
      if (performance.now() - kept.connectedMs <= this.#options.socketMsMax) return kept;
      this.#drop(kept);
    }
    return this.#clients.size >= this.#options.socketsMax || this.#probe !== undefined ? undefined : this.#create();
  }

  #send(kept: KeptClient, { options, exchange }: Waiting): void {
    const takesMore = kept.client.dispatch(options, exchange);
    // A request that is refused before it starts leaves its client as it was.
    if (takesMore || exchange.isEnded) this.#release(kept);
  }

  #create(): KeptClient {
    let takesMany = false;
    const client = new Client(this.#origin, {
      ...this.#options.client,
      connect: (options, callback) =>
        this.#options.connect(options, (...[error, socket]) => {
          takesMany = socket instanceof TLSSocket && socket.alpnProtocol === "h2";
          callback(...([error, socket] as Parameters<typeof callback>));
        }),
    });
    const kept: KeptClient = { client, isFree: false, isConnected: false, connectedMs: Number.POSITIVE_INFINITY };
    this.#clients.add(kept);
    if (!this.#isProbed) this.#probe = kept;
    client.on("connect", () => {
      kept.isConnected = true;
      kept.connectedMs = performance.now();
      this.#isProbed = !takesMany;
      this.#options.onConnect();
      // One that takes many requests is free for more in a moment.
      if (!takesMany) this.#endProbe(kept);
    });
    client.on("disconnect", () => {
      kept.isConnected = false;
      this.#options.onDisconnect();
      if (kept.isFree) this.#retire(kept);
      this.#endProbe(kept);
    });
    client.on("connectionError", () => {
      this.#retire(kept);
      this.#endProbe(kept);
    });
    client.on("drain", () => {
      if (kept.isConnected) this.#release(kept);
      else this.#retire(kept);
      this.#endProbe(kept);
      this.#serve();
    });
    return kept;
  }

  #endProbe(kept: KeptClient): void {
    if (this.#probe !== kept) return;
    this.#probe = undefined;
    this.#serve();
  }

  #release(kept: KeptClient): void {
    if (kept.isFree || !this.#clients.has(kept)) return;
    kept.isFree = true;
    this.#free.push(kept);
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const kept = this.#take();
      if (kept === undefined) return;
      this.#send(kept, this.#waiting.shift() as Waiting);
    }
  }

  /** The client gets no further request. */
  #retire(kept: KeptClient): void {
    if (!this.#clients.has(kept)) return;
    if (kept.isFree) this.#free.splice(this.#free.indexOf(kept), 1);
    this.#drop(kept);
    if (this.#clients.size === 0 && this.#waiting.length === 0) this.#options.onUnused();
  }

  #drop(kept: KeptClient): void {
    kept.isFree = false;
    this.#clients.delete(kept);
    kept.client.close(() => {});
  }
}
