import { createHash } from "node:crypto";

import type { S3Client } from "@aws-sdk/client-s3";

import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import type { ModelVersion, Sharing } from "./model.ts";
import { ModelBucket } from "./model.ts";

/** One operation: what was asked, what was answered, and what the model says. */
export interface Compared {
  readonly did: string;
  readonly seen: unknown;
  readonly expected: unknown;
}

export type Account = "shop" | "bank";

export const keys = ["a", "a/b", "a/c/d", "a/c/e", "b", "z/", "é/ü", "日本", "😀", "x y+%"];
export const sizes = [0, 1, 300, 65_536, 65_537, 200_000];
export const versionsMax = 6;
export const largePartBytes = 5 * 1024 * 1024;
export const denied = "AccessDenied 403";
export const noKey = "NoSuchKey 404";

/** Content of this size, which differs for each number. */
export const contentOf = (number: number, size: number): Buffer =>
  Buffer.alloc(size, createHash("sha512").update(`content ${number}`).digest());

/** What contents are compared by. */
export const digestOf = (content: Uint8Array | undefined): string =>
  createHash("sha256")
    .update(content ?? new Uint8Array())
    .digest("hex")
    .slice(0, 16);

/** The outcome of a call: what `read` says of its answer, or the refusal's name and status. */
export const outcomeOf = async <T>(call: Promise<T>, read: (answer: T) => unknown = () => "done"): Promise<unknown> => {
  try {
    return await read(await call);
  } catch (error) {
    const { name, $metadata } = error as { name: string; $metadata?: { httpStatusCode?: number } };
    if ($metadata?.httpStatusCode === undefined) throw error;
    return `${name} ${$metadata.httpStatusCode}`;
  }
};

/** The buckets, and the operation that is made now: its number, who makes it, and where. */
export class Walk {
  readonly random: SeededRandom;
  readonly clients: Readonly<Record<Account, S3Client>>;
  readonly accountIds: Readonly<Record<Account, string>>;
  readonly buckets = [
    new ModelBucket("plain", "shop"),
    new ModelBucket("versions", "shop"),
    new ModelBucket("locked", "shop", true),
    new ModelBucket("bank-files", "bank"),
  ];
  number = 0;
  account: Account = "shop";
  bucket: ModelBucket = this.buckets[0]!;
  key = "";

  constructor(
    random: SeededRandom,
    clients: Readonly<Record<Account, S3Client>>,
    accountIds: Readonly<Record<Account, string>>,
  ) {
    this.random = random;
    this.clients = clients;
    this.accountIds = accountIds;
  }

  get client(): S3Client {
    return this.clients[this.account];
  }

  get object(): { Bucket: string; Key: string } {
    return { Bucket: this.bucket.name, Key: this.key };
  }

  get current(): ModelVersion | undefined {
    return this.bucket.current(this.key);
  }

  /** The refusal for a version that does not exist. */
  get noVersion(): string {
    return this.bucket.versioning === "" ? noKey : "NoSuchVersion 404";
  }

  may(needs: Sharing): boolean {
    return this.bucket.allows(this.account, needs);
  }

  /** The id that the model gives to what an answer says was stored. */
  idOf(answer: { VersionId?: string | undefined }): string {
    return this.bucket.versioning === "Enabled" ? (answer.VersionId ?? "no id") : "null";
  }
}
