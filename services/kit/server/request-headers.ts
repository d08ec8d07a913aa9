import type { IncomingHttpHeaders } from "node:http";

/** How handlers read the headers of a request: by name, or all names and values. */
export type RequestHeaders = Pick<Headers, "get" | "has"> & Iterable<[string, string]>;

/** The headers of a request as they were received: to make `Headers` of them costs more than many a handler. */
export class ReceivedHeaders implements RequestHeaders {
  readonly #received: IncomingHttpHeaders;

  constructor(received: IncomingHttpHeaders) {
    this.#received = received;
  }

  get(name: string): string | null {
    const key = name.toLowerCase();
    if (!Object.hasOwn(this.#received, key)) return null;
    const value = this.#received[key];
    return (typeof value === "object" ? value.join(", ") : value)?.trim() ?? null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  /** Without the pseudo headers of HTTP/2. */
  *[Symbol.iterator](): Generator<[string, string], undefined> {
    for (const name of Object.keys(this.#received)) {
      const value = this.get(name);
      if (value !== null && !name.startsWith(":")) yield [name, value];
    }
  }
}
