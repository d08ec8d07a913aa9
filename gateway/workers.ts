import cluster from "node:cluster";

/** One process of a gateway that runs in several: how many there are, and which one it is. */
export interface Worker {
  readonly workers: number;
  /** From 1, which keeps the identities; 0: there is only one. */
  readonly worker: number;
}

/** The other processes of a gateway, for the first one, which shows their metrics. */
export const furtherWorkers = ({ workers, worker }: Worker): readonly number[] =>
  worker === 1 ? Array.from({ length: workers - 1 }, (_none, index) => index + 2) : [];

/** When the launcher ends, the platform would end the processes that share its ports at once; this one drains first. */
export const drainWithoutLauncher = (): void => {
  const shared = cluster.worker;
  shared?.once("disconnect", () => {
    shared.exitedAfterDisconnect = true;
  });
};
