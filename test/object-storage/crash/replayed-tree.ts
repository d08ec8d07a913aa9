import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { Call, File, Loss } from "../../kit/store/traced-disk.ts";
import { contentAfter, pathOf, strings } from "../../kit/store/traced-disk.ts";

/** What the process sees in a directory, and which of its names are certain. */
interface Directory {
  readonly seen: Map<string, Entry>;
  certain: Map<string, Entry>;
}

type Entry = File | Directory;

const newDirectory = (): Directory => ({ seen: new Map(), certain: new Map() });
const isDirectory = (entry: Entry | undefined): entry is Directory => entry !== undefined && "seen" in entry;

/**
 * A directory with all below it, replayed from the calls of a traced process, as TracedDisk of the store's tests does
 * for one directory. A name is certain when its directory or the file itself was synced after it was made.
 */
export class ReplayedTree {
  readonly #path: string;
  readonly #root = newDirectory();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Replays a call; returns what it did to which path below the directory, and undefined if it did nothing there.
   * `isLost` names the paths whose syncs do nothing.
   */
  apply({ name, args, result }: Call, isLost: (path: string) => boolean = () => false): string | undefined {
    const texts = strings(args);
    const named = texts[0]?.toString() ?? "";
    switch (name) {
      case "mkdir":
        return this.#change(named, "mkdir", (parent, last) => parent.seen.set(last, newDirectory()));
      case "openat":
        return args.includes("O_CREAT") ? this.#create(named, args.includes("O_TRUNC")) : undefined;
      case "unlink":
      case "unlinkat":
      case "rmdir":
        return this.#change(named, "remove", (parent, last) => parent.seen.delete(last));
      case "rename":
      case "link":
        return this.#move(named, texts[1]?.toString() ?? "", name === "rename");
      case "fsync":
      case "fdatasync":
        return isLost(pathOf(args)) ? undefined : this.#sync(pathOf(args));
      case "write":
      case "writev":
      case "pwrite64":
        return this.#write(pathOf(args), Buffer.concat(texts).subarray(0, Number(result)), name, args);
      default:
        if (this.#find(pathOf(args)) === undefined) return undefined;
        throw new Error(`${name} is not known here`);
    }
  }

  /** Makes a directory with what is left after a loss. */
  async leave(loss: Loss, directory: string): Promise<void> {
    await leaveDirectory(this.#root, loss, directory);
  }

  #write(path: string, bytes: Buffer, name: string, args: string): string | undefined {
    const file = this.#find(path);
    if (file === undefined || isDirectory(file)) return undefined;
    const isPlaced = name === "pwrite64";
    file.writes.push({ offset: isPlaced ? Number(/, (\d+)\s*$/.exec(args)?.[1]) : file.end, bytes });
    if (!isPlaced) file.end += bytes.length;
    return `write ${path}`;
  }

  #create(path: string, truncates: boolean): string | undefined {
    return this.#change(path, "create", (parent, last) => {
      if (truncates || !parent.seen.has(last)) parent.seen.set(last, { writes: [], end: 0, syncedCount: 0 });
    });
  }

  #move(from: string, to: string, isRename: boolean): string | undefined {
    const entry = this.#find(from);
    if (entry === undefined) return undefined;
    if (isRename) this.#change(from, "remove", (parent, last) => parent.seen.delete(last));
    return this.#change(to, "move", (parent, last) => parent.seen.set(last, entry));
  }

  #sync(path: string): string | undefined {
    const entry = this.#find(path);
    if (entry === undefined) return undefined;
    if (isDirectory(entry)) entry.certain = new Map(entry.seen);
    else {
      entry.syncedCount = entry.writes.length;
      this.#change(path, "sync", (parent, last) => parent.certain.set(last, entry));
    }
    return `sync ${path}`;
  }

  /** Changes the directory of a path; returns what was done, and undefined if the path is elsewhere. */
  #change(path: string, what: string, act: (parent: Directory, name: string) => unknown): string | undefined {
    const parent = this.#find(dirname(path));
    if (!isDirectory(parent)) return undefined;
    act(parent, basename(path));
    return `${what} ${path}`;
  }

  #find(path: string): Entry | undefined {
    if (path === this.#path) return this.#root;
    if (!path.startsWith(`${this.#path}/`)) return undefined;
    let entry: Entry | undefined = this.#root;
    for (const name of path.slice(this.#path.length + 1).split("/"))
      entry = isDirectory(entry) ? entry.seen.get(name) : undefined;
    return entry;
  }
}

const leaveDirectory = async (from: Directory, loss: Loss, to: string): Promise<void> => {
  await mkdir(to);
  for (const [name, entry] of loss.names === "kept" ? from.seen : from.certain) {
    if (isDirectory(entry)) await leaveDirectory(entry, loss, join(to, name));
    else if (name !== "LOCK") await writeFile(join(to, name), contentAfter(entry, loss.tail), { mode: 0o600 });
  }
};
