/** What main.ts tells a worker. */
export interface WorkerOrder {
  readonly name: string;
  readonly seconds: number;
  readonly seed: number;
  /**
   * Shared, so that the input that hangs or ends a worker is known: its length (4 bytes), the number of executed inputs
   * (4), unused (8), and the input.
   */
  readonly state: SharedArrayBuffer;
}

/** What a worker reports at its end. */
export type WorkerReport =
  | {
      readonly executed: number;
      /** Of the processor. */
      readonly cpuSeconds: number;
      /** Blocks of the sources that an input reached, and those that the inputs at the beginning reached. */
      readonly blocks: number;
      readonly startedWith: number;
      /** How many inputs reach all of them. */
      readonly inputs: number;
    }
  | {
      /** The input as a line of a corpus. */
      readonly finding: string;
      readonly error: string;
    };
