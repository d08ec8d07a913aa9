import { createHash } from "node:crypto";

/** A version as the documents describe it; a delete marker has no content. */
export interface ModelVersion {
  readonly id: string;
  readonly content: Buffer | undefined;
  /** With its quotes; of a delete marker, empty. */
  readonly eTag: string;
  readonly note: string;
  tags: string;
  isHeld: boolean;
  isRetained: boolean;
}

/** An upload that is neither completed nor aborted. */
export interface ModelUpload {
  readonly id: string;
  readonly key: string;
  /** The account that started it, which may always list its parts and abort it. */
  readonly initiator: string;
  /** Whether the key had a current version when the upload was started. */
  readonly hadObject: boolean;
  readonly parts: Map<number, { readonly content: Buffer; readonly eTag: string }>;
}

/** What an account may do in the bucket of the other one. */
export type Sharing = "nothing" | "reading" | "everything";

const md5 = (content: Uint8Array): Buffer => createHash("md5").update(content).digest();

/** The ETag of content that was put in one piece, or of a part. */
export const eTagOf = (content: Uint8Array): string => `"${md5(content).toString("hex")}"`;

/** The ETag of an object that was completed from parts. */
export const eTagOfParts = (parts: readonly Uint8Array[]): string =>
  `"${md5(Buffer.concat(parts.map(md5))).toString("hex")}-${parts.length}"`;

/** The ETag of an object after an append. */
export const eTagOfAppended = (before: Pick<ModelVersion, "eTag" | "content">, appended: Uint8Array): string => {
  const [digest = "", parts = "1"] = before.eTag.replaceAll('"', "").split("-");
  const count = before.content?.length === 0 ? 0 : Number(parts);
  return `"${md5(Buffer.concat([Buffer.from(digest, "hex"), md5(appended)])).toString("hex")}-${count + 1}"`;
};

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** A bucket with all versions of its keys, newest first. */
export class ModelBucket {
  readonly name: string;
  readonly owner: string;
  readonly isLocked: boolean;
  sharing: Sharing = "nothing";
  versioning: "" | "Enabled" | "Suspended" = "";
  readonly uploads = new Map<string, ModelUpload>();
  readonly #removed = new Map<string, string>();
  readonly #keys = new Map<string, ModelVersion[]>();

  constructor(name: string, owner: string, isLocked = false) {
    this.name = name;
    this.owner = owner;
    this.isLocked = isLocked;
    if (isLocked) this.versioning = "Enabled";
  }

  allows(account: string, needs: Sharing): boolean {
    return account === this.owner || this.sharing === "everything" || this.sharing === needs;
  }

  versions(key: string): readonly ModelVersion[] {
    return this.#keys.get(key) ?? [];
  }

  find(key: string, id: string): ModelVersion | undefined {
    return this.versions(key).find((version) => version.id === id);
  }

  /** The newest version, unless it is a delete marker. */
  current(key: string): ModelVersion | undefined {
    const [newest] = this.versions(key);
    return newest?.content === undefined ? undefined : newest;
  }

  /** Adds a version; one without an id replaces the one without. */
  add(key: string, version: Pick<ModelVersion, "id" | "content" | "eTag"> & Partial<ModelVersion>): void {
    const former = this.versions(key).filter(({ id }) => version.id !== "null" || id !== "null");
    this.#keys.set(key, [{ note: "", tags: "", isHeld: false, isRetained: false, ...version }, ...former]);
  }

  /** A version that the key does not have any more; `null`, which it may have, if none was removed. */
  removedId(key: string): string {
    return this.#removed.get(key) ?? "null";
  }

  remove(key: string, versionId: string): void {
    if (this.find(key, versionId) !== undefined) this.#removed.set(key, versionId);
    const left = this.versions(key).filter(({ id }) => id !== versionId);
    if (left.length === 0) this.#keys.delete(key);
    else this.#keys.set(key, left);
  }

  /** All keys with any version, in the order of their bytes. */
  keys(): string[] {
    return [...this.#keys.keys()].toSorted(byBytes);
  }

  /** The lines of a listing: current keys, and common prefixes where there is a delimiter. */
  listed(prefix: string, delimiter: string): string[] {
    const lines = new Set<string>();
    for (const key of this.keys()) {
      if (!key.startsWith(prefix) || this.current(key) === undefined) continue;
      const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
      lines.add(at < 0 ? `${key} ${this.current(key)?.eTag}` : `${key.slice(0, at + delimiter.length)} …`);
    }
    return [...lines];
  }

  /** The lines of a listing of all versions. */
  listedVersions(): string[] {
    return this.keys().flatMap((key) =>
      this.versions(key).map(
        ({ id, content }, index) => `${key} ${id} ${content === undefined ? "marker" : content.length} ${index === 0}`,
      ),
    );
  }
}
