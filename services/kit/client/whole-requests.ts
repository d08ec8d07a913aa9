/** All requests of a stream, known before it begins: they are sent together, as one body of a known length. */
export class WholeRequests<T> implements AsyncIterable<T> {
  readonly messages: readonly T[];

  constructor(messages: readonly T[]) {
    this.messages = messages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield* this.messages;
  }
}
