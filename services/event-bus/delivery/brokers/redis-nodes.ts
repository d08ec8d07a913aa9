import { LRUCache } from "lru-cache";

import { growingCache } from "../../../kit/collections/growing-cache.ts";
import type { BrokerHost } from "../../domain/broker.ts";

/** A connection to one server. */
export interface RedisNode {
  readonly address: BrokerHost;
  send(command: readonly (string | Buffer)[]): Promise<unknown>;
  /** Resolves when nothing more can be sent. */
  readonly ended: Promise<unknown>;
  close(): void;
}

/** Nodes of a cluster that are connected to at the same time. The one used longest ago is left for a further one. */
const nodesMax = 64;
/** Keys of which the node is known. */
const keysMax = 10_000;
/** How often a command is sent to another node than the one that had it. */
const redirectionsMax = 4;

/** Where a node of a cluster says that a key is. */
interface Redirection {
  readonly address: BrokerHost;
  /** False: only what is sent after ASKING is there, while the key is being moved. */
  readonly isMoved: boolean;
}

/**
 * The server of a broker, and the nodes that it names if it is one of a cluster: a command for a key that another node
 * has is sent there, and the next ones at once. All ends with the first connection; one of another node is made again
 * when a command needs it.
 */
export class RedisNodes {
  readonly ended: Promise<unknown>;
  readonly #first: RedisNode;
  readonly #connect: (host: BrokerHost) => Promise<RedisNode>;
  readonly #others = new LRUCache<string, Promise<RedisNode>>({
    max: nodesMax,
    dispose: (node) => void node.then(({ close }) => close()).catch(() => {}),
  });
  /** The other node that has a key. */
  readonly #nodeOfKey = growingCache<string, BrokerHost>(keysMax);
  #isClosed = false;

  constructor(first: RedisNode, connect: (host: BrokerHost) => Promise<RedisNode>) {
    this.#first = first;
    this.#connect = connect;
    this.ended = first.ended.then(() => this.close());
  }

  /** Sends a command to the node that has its key. */
  async send(key: string, command: readonly (string | Buffer)[]): Promise<void> {
    const known = this.#nodeOfKey.get(key);
    try {
      await this.#sendTo(known === undefined ? this.#first : await this.#nodeAt(known), key, command, 0);
    } catch (error) {
      // The next attempt asks the first node again, which may name another one.
      this.#nodeOfKey.delete(key);
      throw error;
    }
  }

  async #sendTo(
    node: RedisNode,
    key: string,
    command: readonly (string | Buffer)[],
    redirections: number,
  ): Promise<void> {
    try {
      await node.send(command);
    } catch (error) {
      const redirection = redirectionOf(error, node.address);
      if (redirection === undefined || redirections === redirectionsMax) throw error;
      const other = await this.#nodeAt(redirection.address);
      if (redirection.isMoved) {
        this.#nodeOfKey.set(key, redirection.address);
        return this.#sendTo(other, key, command, redirections + 1);
      }
      // Both are sent at once, so that nothing comes between them.
      await Promise.all([other.send(["ASKING"]), this.#sendTo(other, key, command, redirections + 1)]);
    }
  }

  async #nodeAt(address: BrokerHost): Promise<RedisNode> {
    const name = `${address.host} ${address.port}`;
    if (this.#isClosed) throw new Error("the connections to the nodes are closed");
    const open = this.#others.get(name);
    if (open !== undefined) return open;
    const opening = this.#connect(address);
    const forget = (): void => {
      if (this.#others.peek(name) === opening) this.#others.delete(name);
    };
    this.#others.set(name, opening);
    opening.then(({ ended }) => ended.then(forget), forget);
    return opening;
  }

  /** Ends all connections. */
  close(): void {
    this.#isClosed = true;
    this.#first.close();
    this.#others.clear();
  }
}

/** The node that an answer such as `MOVED 3999 10.0.0.4:6381` names; without a host, that of the node that answered. */
const redirectionOf = (error: unknown, answering: BrokerHost): Redirection | undefined => {
  if (!(error instanceof Error)) return undefined;
  const [, kind, host = "", port] = /^(MOVED|ASK) \d+ (\S*):(\d{1,5})$/.exec(error.message) ?? [];
  if (kind === undefined) return undefined;
  return { address: { host: host === "" ? answering.host : host, port: Number(port) }, isMoved: kind === "MOVED" };
};
