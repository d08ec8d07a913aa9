import { ErrorReason, refusal } from "../refusal.ts";

/** The bytes that all bodies that are not streamed may hold together. */
export class ByteBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the account of one body. */
  open(): ByteAccount {
    let own = 0;
    return {
      take: (bytes) => {
        if (this.#bytes + bytes > this.#bytesMax) throw refusal(ErrorReason.BUSY);
        own += bytes;
        this.#bytes += bytes;
      },
      release: () => {
        this.#bytes -= own;
        own = 0;
      },
    };
  }
}

/** What one body holds of a budget. */
export interface ByteAccount {
  /** Throws BUSY if the bytes are more than is left. */
  take(bytes: number): void;
  release(): void;
}
