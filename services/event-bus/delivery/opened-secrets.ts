import { LRUCache } from "lru-cache";

import type { ConnectionRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { CreateConnectionAuthParameters } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { openSecret } from "../encryption/connection-secret.ts";

/** A decrypted secret with the stored bytes from which it was decrypted. */
interface OpenedSecret {
  readonly content: Uint8Array;
  readonly parameters: CreateConnectionAuthParameters;
}

/** Secrets in memory; the least recently used one is dropped first. */
const secretsMax = 1_000;
/** Milliseconds for which a secret stays in memory. */
const secretMsMax = 60_000;

/** Decrypted secrets of connections, in memory for at most a minute. A changed secret is decrypted at once. */
export class OpenedSecrets {
  readonly #keyring: Keyring;
  // Each look at the time would set a timer, but a timer of its own removes each secret in time.
  readonly #opened = new LRUCache<string, OpenedSecret>({
    max: secretsMax,
    ttl: secretMsMax,
    ttlAutopurge: true,
    ttlResolution: 1_000,
  });

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /**
   * The credentials of a connection; undefined if it has been deauthorized. Throws NamedKeyError if its key cannot be
   * used now, also for a secret in memory; SealBrokenError if the stored bytes are damaged.
   */
  open(account: string, connection: ConnectionRecord): CreateConnectionAuthParameters | undefined {
    const name = `${account}/${connection.id}`;
    if (connection.secret === undefined) {
      this.#opened.delete(name);
      return undefined;
    }
    const { wrappedKey, content } = connection.secret;
    const known = this.#opened.get(name);
    // Every encryption has a nonce of its own, so equal bytes are the same secret.
    if (known !== undefined && Buffer.compare(known.content, content) === 0) {
      this.#keyring.assertUsable(wrappedKey);
      return known.parameters;
    }
    this.#opened.delete(name);
    const parameters = openSecret(this.#keyring, account, connection);
    if (parameters !== undefined) this.#opened.set(name, { content: content.slice(), parameters });
    return parameters;
  }
}
