import type { WriteGetObjectResponseRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { Ids } from "../../kit/ids/ids.ts";

/** What a function has written for a reader: its head, and the content, of which the reader pulls each piece. */
export interface WrittenAnswer {
  readonly head: WriteGetObjectResponseRequest;
  readonly body: AsyncIterable<Uint8Array>;
  /** The reader has everything, or went away: `thrown` is why. */
  finish(thrown?: Error): void;
}

/** An object that a function may read once it was asked to transform it, in the name of who asked. */
export interface FunctionInput {
  readonly bucket: string;
  readonly key: string;
  /** Undefined: the current version. */
  readonly versionId: string | undefined;
  readonly caller: Caller;
}

/** A reader that waits for the answer of a function. */
export interface PendingAnswer {
  /** Where the function writes the answer: a host label and a secret. */
  readonly route: string;
  readonly token: string;
  /** The name of the bucket in the URL by which the function reads the object: a secret too. */
  readonly inputName: string;
  /** Resolves when the function has begun to write. */
  readonly answer: Promise<WrittenAnswer>;
  /** Nobody waits any more: token and input end. */
  end(): void;
}

interface Waiting {
  readonly accountId: string;
  readonly input: FunctionInput;
  readonly take: (answer: WrittenAnswer) => void;
}

const secretDigits = 48;
/** The suffix of names of object functions, which no bucket has. */
const inputName = /^input-([0-9a-f]{48})--ol-s3$/;

/**
 * The readers that wait for answers of functions, in memory: a restart ends them, as it ends their connections. A token
 * is a secret of 192 random bits, good for one answer; a URL of the input is another, good as long as the reader waits.
 */
export class PendingAnswers {
  readonly #ids: Pick<Ids, "hex">;
  readonly #byToken = new Map<string, Waiting>();
  readonly #byInput = new Map<string, FunctionInput>();
  /** Of this process, so that an operator finds the answers of one in a log. */
  readonly #route: string;

  constructor(ids: Pick<Ids, "hex">) {
    this.#ids = ids;
    this.#route = `io-${ids.hex(8)}`;
  }

  /** Begins to wait for an answer, which a caller of the account may write. */
  open(accountId: string, input: FunctionInput): PendingAnswer {
    const { promise, resolve } = Promise.withResolvers<WrittenAnswer>();
    const token = this.#ids.hex(secretDigits);
    const secret = this.#ids.hex(secretDigits);
    this.#byToken.set(token, { accountId, input, take: resolve });
    this.#byInput.set(secret, input);
    return {
      route: this.#route,
      token,
      inputName: `input-${secret}--ol-s3`,
      answer: promise,
      end: () => {
        this.#byToken.delete(token);
        this.#byInput.delete(secret);
      },
    };
  }

  /** The object that a function reads by a name of a bucket; undefined: it is not such a name, or has ended. */
  findInput(bucket: string): FunctionInput | undefined {
    const secret = inputName.exec(bucket)?.[1];
    return secret === undefined ? undefined : this.#byInput.get(secret);
  }

  /** Hands an answer to its reader. False: nobody waits for it, somebody has answered, or another account was asked. */
  hand(route: string, token: string, accountId: string, answer: WrittenAnswer): boolean {
    const waiting = this.#byToken.get(token);
    if (waiting === undefined || route !== this.#route || waiting.accountId !== accountId) return false;
    this.#byToken.delete(token);
    waiting.take(answer);
    return true;
  }
}
