/** One answer of a pipelined connection. */
export interface PipelinedAnswer {
  readonly status: number;
  /** Whether the connection ends after it. */
  readonly isLast: boolean;
  /** The beginning of its head and body. */
  readonly excerpt: () => string;
}

/** Reads the answers off a connection on which several requests are sent at once. */
export class AnswerReader {
  #left: Buffer = Buffer.alloc(0);

  /** The next answer of the received bytes; undefined: it is not there yet. Throws for bytes that are no answer. */
  next(isHead: boolean): PipelinedAnswer | undefined {
    for (;;) {
      const headEnd = this.#left.indexOf("\r\n\r\n");
      if (headEnd === -1) return undefined;
      const head = this.#left.toString("latin1", 0, headEnd).toLowerCase();
      const status = /^http\/1\.1 ([1-5]\d\d) /.test(head) ? Number(head.slice(9, 12)) : undefined;
      if (status === undefined) throw new Error(`no answer: ${this.#left.toString("latin1", 0, 300)}`);
      const bodyAt = headEnd + 4;
      if (status < 200) {
        this.#left = this.#left.subarray(bodyAt);
        continue;
      }
      const isBodiless = isHead || status === 204 || status === 304;
      const end = isBodiless ? bodyAt : this.#endOfBody(head, bodyAt);
      if (end === undefined || end > this.#left.length) return undefined;
      const answer = this.#left;
      this.#left = answer.subarray(end);
      const isLast = head.includes("\r\nconnection: close");
      return { status, isLast, excerpt: () => answer.toString("latin1", 0, Math.min(end, 1_200)) };
    }
  }

  /** Whether nothing was received beyond the answers that were read. */
  get isEmpty(): boolean {
    return this.#left.length === 0;
  }

  add(piece: Buffer): void {
    this.#left = this.#left.length === 0 ? piece : Buffer.concat([this.#left, piece]);
  }

  #endOfBody(head: string, bodyAt: number): number | undefined {
    if (head.includes("\r\ntransfer-encoding: chunked")) return this.#endOfChunks(bodyAt);
    const at = head.indexOf("\r\ncontent-length: ");
    if (at === -1) throw new Error(`an answer without a length: ${head.slice(0, 300)}`);
    return bodyAt + Number.parseInt(head.slice(at + "\r\ncontent-length: ".length), 10);
  }

  #endOfChunks(bodyAt: number): number | undefined {
    for (let at = bodyAt; ;) {
      const lineEnd = this.#left.indexOf("\r\n", at);
      if (lineEnd === -1) return undefined;
      const size = Number.parseInt(this.#left.toString("latin1", at, lineEnd), 16);
      if (Number.isNaN(size)) throw new Error("a chunk without a size");
      at = lineEnd + 2 + size + 2;
      if (at > this.#left.length) return undefined;
      if (size === 0) return at;
    }
  }
}
