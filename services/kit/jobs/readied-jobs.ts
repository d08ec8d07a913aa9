/** Jobs of one owner that were made ready: how many, and since when the first one of them is. */
interface ReadiedJobs {
  readonly sinceMs: number;
  readonly count: number;
}

/** The jobs that were made ready, by owner. */
export type Readied = Map<string, ReadiedJobs>;

/** Adds a job that is ready since an instant. */
export const addReadied = (owners: Readied, owner: string, atMs: number): void => {
  const { sinceMs, count } = owners.get(owner) ?? { sinceMs: atMs, count: 0 };
  owners.set(owner, { sinceMs: Math.min(atMs, sinceMs), count: count + 1 });
};
