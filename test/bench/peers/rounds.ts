import type { Peer } from "./peer.ts";
import { startPeer } from "./peer.ts";

/** A server process and a client process that calls it. */
export interface PeerPair {
  readonly serving: Peer;
  readonly calling: Peer;
  readonly address: string;
}

/**
 * Measures several pairs of processes in turns, round after round, so that whatever else the machine does meets all of
 * them; each pair's own best round is for the caller to choose. Pairs are named `server script part, client part`.
 */
export const inRounds = async <Result>(
  scripts: { readonly servers: string; readonly clients: string },
  pairs: Readonly<Record<string, readonly [server: string, client: string]>>,
  rounds: number,
  measure: (pair: PeerPair) => Promise<Result>,
): Promise<Record<string, Result[]>> => {
  const started = new Map<string, PeerPair>();
  const results: Record<string, Result[]> = {};
  try {
    for (const [name, [server, client]] of Object.entries(pairs)) {
      const [serving, calling] = [startPeer(scripts.servers, server), startPeer(scripts.clients, client)];
      started.set(name, { serving, calling, address: await serving.ask<string>({ ask: "start" }) });
    }
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, pair] of started) {
        const result = await measure(pair);
        // The first round only warms the processes up.
        if (round > 0) (results[name] ??= []).push(result);
      }
    return results;
  } finally {
    for (const { serving, calling } of started.values()) {
      serving.stop();
      calling.stop();
    }
  }
};
