/** What a payload is sent from. */
export interface Payload<T> {
  /** The bytes after the first message, as they arrive. Can be iterated once. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** How many bytes the pieces have together; undefined: not known before their end. */
  readonly sizeBytes: number | undefined;
  /** The message that carries a piece. */
  messageOf(piece: Uint8Array): T;
  /** The message after the pieces, if there is one; called when they have ended. */
  last(): T | undefined;
}

/**
 * Requests of a stream whose messages after the first carry one sequence of bytes: an engine may send the bytes as they
 * are, without a message for each piece.
 */
export class PayloadRequests<T> implements AsyncIterable<T> {
  readonly head: T;
  readonly payload: Payload<T>;

  constructor(head: T, payload: Payload<T>) {
    this.head = head;
    this.payload = payload;
  }

  /** The same requests with these pieces instead of their own. */
  withPieces(pieces: AsyncIterable<Uint8Array>): PayloadRequests<T> {
    const { sizeBytes, messageOf, last } = this.payload;
    return new PayloadRequests(this.head, { pieces, sizeBytes, messageOf, last });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield this.head;
    for await (const piece of this.payload.pieces) yield this.payload.messageOf(piece);
    const last = this.payload.last();
    if (last !== undefined) yield last;
  }
}
