/** All answers of a stream, known when the call returns. Whoever knows of them needs no further step for the next. */
export class WholeAnswers<T> implements AsyncIterable<T> {
  readonly messages: readonly T[];

  constructor(messages: readonly T[]) {
    this.messages = messages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield* this.messages;
  }
}
