import type { RawEntry } from "../store/engine.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

/** A file outside the database that a record refers to. Nothing ever changes it. */
export interface ContentFile {
  /** Below the directory of its process, with `/`. */
  readonly path: string;
  /** Of its content, as its record says. */
  readonly sizeBytes: number;
}

/** Something stored that is damaged or missing. */
export interface Damage {
  /** A record's key as people write it, or a file. */
  readonly subject: string;
  readonly reason: string;
}

/** The files of a process's content. */
interface StoredContent {
  /** The file that a record refers to; undefined: none. */
  fileOf(record: RawEntry): ContentFile | undefined;
  /** A check of files below a directory. It throws, saying why, if one is missing or not as it was written. */
  openCheck(directory: string): Promise<(file: ContentFile) => Promise<void>>;
}

/** What a process stores, as far as its backup depends on it. */
export interface StoredData {
  /** All tables of its database. */
  readonly layout: readonly Table[];
  /** Unset: it stores nothing outside the database. */
  readonly content?: StoredContent;
  /** Finds references between records that do not hold. Unset: there are none. */
  findBroken?(store: Store): Promise<readonly Damage[]>;
}
