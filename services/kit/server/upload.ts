/** The first message of an upload, and the bytes of all of them. */
export interface Upload<Request> {
  /** The first message; its bytes, if any, are also the first of `body`. */
  readonly head: Request;
  /** The bytes in the order sent, chunk by chunk as they arrive. Can be read once. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A stream of requests that ended before its first message. */
export class EmptyUploadError extends Error {
  override readonly name = "EmptyUploadError";

  constructor() {
    super("the stream of requests has no message");
  }
}

/** The names of the members of a message that hold bytes. */
type BytesMember<Request> = {
  [K in keyof Request]-?: NonNullable<Request[K]> extends Uint8Array ? K : never;
}[keyof Request];

/**
 * Separates a stream of requests whose first message describes the upload and which all carry its bytes:
 * `const { head, body } = await openUpload(requests, "body")`. `see`, if given, is called with each later message when
 * it arrives. Throws EmptyUploadError if the stream has no message, which the server reports as invalid input.
 */
export const openUpload = async <Request>(
  requests: AsyncIterable<Request>,
  member: BytesMember<Request>,
  see?: (request: Request) => void,
): Promise<Upload<Request>> => {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) throw new EmptyUploadError();
  return { head: first.value, body: bytesOf(first.value, iterator, member, see) };
};

async function* bytesOf<Request>(
  head: Request,
  iterator: AsyncIterator<Request>,
  member: BytesMember<Request>,
  see: ((request: Request) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    const opening = head[member] as Uint8Array | undefined;
    if (opening !== undefined && opening.length > 0) yield opening;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      see?.(next.value);
      const chunk = next.value[member] as Uint8Array | undefined;
      if (chunk !== undefined && chunk.length > 0) yield chunk;
    }
  } finally {
    await iterator.return?.();
  }
}
