/** One measured figure beside the figure of its bare building block, from the same run on the same machine. */
export interface BenchRow {
  readonly what: string;
  readonly value: number;
  /** Of both figures, for example `calls/s`. */
  readonly unit: string;
  readonly baseline: { readonly what: string; readonly value: number };
  /** Value over baseline; for costs the other way round, so that more is always better. */
  readonly ratio: number;
  /** The least ratio that is wanted. Unset: none was set. */
  readonly target?: number;
}

/** Rows that are measured together. */
export interface BenchGroup {
  readonly name: string;
  /** A group whose rows are independent measures only those whose names have the text, if one is given. */
  run(only?: string): Promise<BenchRow[]>;
  /**
   * Measures another clone of the repository, in the same rounds. Unset: `run` is run in both, in turns. Both have the
   * same rows, whose values are costs.
   */
  runAgainst?(directory: string, only?: string): Promise<ComparedRows>;
}

/** The rows of another clone, and of this one. */
export interface ComparedRows {
  readonly before: readonly BenchRow[];
  readonly after: readonly BenchRow[];
}
