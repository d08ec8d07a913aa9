import type { IncomingHttpHeaders } from "node:http";

import type { DescMessage, DescMethodStreaming, DescMethodUnary, DescService, MessageShape } from "@bufbuild/protobuf";
import type { StreamResponse, UnaryResponse } from "@connectrpc/connect";

/** The answer of a unary call. Its headers are created when they are read, which is rare. */
export class UnaryAnswer<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false;
  readonly method: DescMethodUnary<I, O>;
  readonly message: MessageShape<O>;
  /** As they were received; undefined: not known. */
  readonly received: IncomingHttpHeaders | undefined;
  readonly #makeHeaders: () => AnswerHeaders;
  #headers: AnswerHeaders | undefined;

  constructor(
    method: DescMethodUnary<I, O>,
    message: MessageShape<O>,
    makeHeaders: () => AnswerHeaders,
    received?: IncomingHttpHeaders,
  ) {
    this.method = method;
    this.message = message;
    this.received = received;
    this.#makeHeaders = makeHeaders;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get header(): Headers {
    this.#headers ??= this.#makeHeaders();
    return this.#headers.header;
  }

  get trailer(): Headers {
    this.#headers ??= this.#makeHeaders();
    return this.#headers.trailer;
  }
}

/** The headers of an answer as they were received; undefined: not known. */
interface ReceivedHeaders {
  readonly received?: IncomingHttpHeaders | undefined;
}

/** Whether an answer may have a header, without creating its headers if that is not needed. */
export const mayHaveHeader = (answer: object, name: string): boolean => {
  const { received } = answer as ReceivedHeaders;
  return received === undefined || received[name] !== undefined;
};

/** The metadata of an answer. */
export interface AnswerHeaders {
  readonly header: Headers;
  readonly trailer: Headers;
}

/**
 * The answer of a streaming call. Its headers are created when they are read, which is rare. The trailer is complete
 * after the last message. A class, because V8 makes a new hidden class for each object with getters of its own.
 */
export class StreamAnswer<I extends DescMessage, O extends DescMessage> implements StreamResponse<I, O> {
  readonly stream = true;
  readonly method: DescMethodStreaming<I, O>;
  readonly message: AsyncIterable<MessageShape<O>>;
  /** As they were received; undefined: not known. */
  readonly received: IncomingHttpHeaders | undefined;
  readonly #readHeaders: () => AnswerHeaders;

  /** `readHeaders` returns the same headers each time. */
  constructor(
    method: DescMethodStreaming<I, O>,
    readHeaders: () => AnswerHeaders,
    message: AsyncIterable<MessageShape<O>>,
    received?: IncomingHttpHeaders,
  ) {
    this.method = method;
    this.message = message;
    this.received = received;
    this.#readHeaders = readHeaders;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get header(): Headers {
    return this.#readHeaders().header;
  }

  get trailer(): Headers {
    return this.#readHeaders().trailer;
  }
}
