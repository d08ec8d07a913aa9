/** One file of a database that is not as it was written. */
export interface FileDamage {
  readonly file: string;
  /** For people. */
  readonly detail: string;
  /** Whether LevelDB opens the database in spite of it, without the contents of the damaged bytes. */
  readonly isSurvivable: boolean;
}

export const survivableDamage = (file: string, detail: string): FileDamage => ({ file, detail, isSurvivable: true });
export const fatalDamage = (file: string, detail: string): FileDamage => ({ file, detail, isSurvivable: false });

/** What a reader of a file's bytes throws about them. Throws everything else again: a defect of the reader. */
export const messageOfDamage = (thrown: unknown): string => {
  if (!(thrown instanceof RangeError)) throw thrown;
  return thrown.message;
};
