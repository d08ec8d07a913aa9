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
