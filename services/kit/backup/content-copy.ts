import { copyFile, link, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

import { syncDirectory } from "../files/directories.ts";
import type { ContentFile, Damage, StoredData } from "./stored-data.ts";

/** Files that are copied at the same time. */
const copiesMax = 8;
const progressMs = 2_000;

export interface ContentCopy {
  readonly files: AsyncIterable<ContentFile>;
  readonly count: number;
  readonly from: string;
  readonly to: string;
  /** On the file system of `to`. Files are moved from it when they are verified. */
  readonly stage: string;
  readonly isLinked: boolean;
  readonly content: NonNullable<StoredData["content"]>;
  readonly signal: AbortSignal;
  report(progress: string): void;
}

/** What was copied, and what could not be. */
export interface CopiedContent {
  readonly files: number;
  readonly bytes: number;
  readonly damages: readonly Damage[];
}

/**
 * Copies the files that are not in the target yet, and verifies each copy before it gets its name there: whatever has a
 * name in the target is whole. All their names are durable when this resolves, also those that were there: the copy
 * that made them may have been ended before its own were. A file that is missing or damaged at its source is left out.
 */
export const copyContent = async (copy: ContentCopy): Promise<CopiedContent> => {
  const { stage, to, count, signal, report } = copy;
  await mkdir(stage, { recursive: true });
  const check = await copy.content.openCheck(stage);
  const damages: Damage[] = [];
  const parents = new Set<string>();
  let [seen, files, bytes, saidMs] = [0, 0, 0, performance.now()];

  const take = async (file: ContentFile): Promise<void> => {
    const target = join(to, file.path);
    let isThere = await exists(target);
    if (!isThere) {
      const staged = join(stage, file.path);
      const problem = await copyVerified(join(copy.from, file.path), staged, copy.isLinked, () => check(file));
      if (problem === undefined) {
        await mkdir(dirname(target), { recursive: true });
        await rename(staged, target);
        files += 1;
        bytes += file.sizeBytes;
      } else {
        await rm(staged, { force: true });
        damages.push({ subject: file.path, reason: problem });
      }
      isThere = problem === undefined;
    }
    if (isThere) parents.add(dirname(target));
    seen += 1;
    if (performance.now() - saidMs < progressMs) return;
    saidMs = performance.now();
    report(`${seen} of ${count} files, ${files} copied (${mebibytes(bytes)} MiB)`);
  };

  const source = copy.files[Symbol.asyncIterator]();
  const work = async (): Promise<void> => {
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      signal.throwIfAborted();
      await take(next.value);
    }
  };
  await Promise.all(Array.from({ length: copiesMax }, work));
  for (const directory of withDirectoriesAbove(parents, dirname(to))) await syncDirectory(directory);
  return { files, bytes, damages };
};

export const mebibytes = (bytes: number): string => (bytes / (1024 * 1024)).toFixed(1);

/** Copies a file durably and verifies the copy. Returns why that failed because of the source. */
const copyVerified = async (
  source: string,
  staged: string,
  isLinked: boolean,
  check: () => Promise<void>,
): Promise<string | undefined> => {
  await mkdir(dirname(staged), { recursive: true });
  try {
    if (!isLinked || !(await linked(source, staged))) {
      await copyFile(source, staged);
      const file = await open(staged, "r+");
      try {
        await file.datasync();
      } finally {
        await file.close();
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "its file is missing";
    throw error;
  }
  return check().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
};

/** Gives a file a further name; false where the file system cannot. */
const linked = async (source: string, path: string): Promise<boolean> => {
  try {
    await link(source, path);
    return true;
  } catch (error) {
    if (["EXDEV", "EPERM", "EMLINK", "ENOTSUP"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );

/** Directories and all those above them up to one, which is among them as well if there are any. */
const withDirectoriesAbove = (directories: Iterable<string>, last: string): ReadonlySet<string> => {
  const all = new Set<string>();
  for (const directory of directories)
    for (let path = directory; path.length >= last.length && !all.has(path); path = dirname(path)) all.add(path);
  return all;
};
