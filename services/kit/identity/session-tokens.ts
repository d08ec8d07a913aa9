import type { KeyObject } from "node:crypto";

import { growingCache } from "../collections/growing-cache.ts";
import { parseJson } from "../json/parse-json.ts";
import { seal, SealBrokenError, unseal } from "../keyring/sealed.ts";

/** A session of temporary credentials: everything but the rights of its role or user, which are read when it acts. */
export interface Session {
  /** Begins with `ASIA`. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly accountId: string;
  readonly issuedMs: number;
  /** It is refused from this instant on. */
  readonly expiresMs: number;
  readonly principal: SessionPrincipal;
  /** Policies that limit the session, JSON documents verbatim. Unset: none do. */
  readonly policies?: readonly string[];
  /** Tags over those of the role. Unset: none. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Keys of the tags that follow into sessions which this session begins. Unset: none. */
  readonly transitiveTagKeys?: readonly string[];
  readonly sourceIdentity?: string;
}

/**
 * Whose session it is. The id is that of the very role: another one of the same name is not meant. A session of a
 * lasting key is its user's or root's, or a federated user's under the name, and ends with the key.
 */
type SessionPrincipal =
  | { readonly kind: "role"; readonly name: string; readonly id: string; readonly sessionName: string }
  | { readonly kind: "key"; readonly accessKeyId: string }
  | { readonly kind: "federated"; readonly accessKeyId: string; readonly name: string };

/** Writes sessions as tokens and reads them. */
export interface SessionTokens {
  /** The session, encrypted, in base64url. */
  write(session: Session): string;
  /** The session of a token; undefined for one that was not written with a key of this installation. */
  read(token: string): Session | undefined;
}

/** Room of a token for policies and tags, in bytes of JSON. Tokens travel in headers and URLs, which have limits. */
export const packedBytesMax = 6 * 1024;

/** The bytes that policies and tags take up in a token. */
export const packedBytes = ({ policies, tags }: Pick<Session, "policies" | "tags">): number =>
  Buffer.byteLength(JSON.stringify([policies ?? [], tags ?? {}])) - "[[],{}]".length;

/** Longer than any token that is written. */
const tokenLengthMax = 16 * 1024;
const cachedTokensMax = 5_000;
const context = ["quartet session token"];
const version = 1;

/**
 * Tokens under the installation's keys, of which the first one writes and all read. A token is a version byte and the
 * session as JSON under AES-256-GCM, so that nobody can read or change it; whether its tag fits is checked in constant
 * time.
 */
export const createSessionTokens = (keys: () => readonly KeyObject[]): SessionTokens => {
  const opened = growingCache<string, Session>(cachedTokensMax);
  return {
    write: (session) => {
      const [key] = keys();
      if (key === undefined) throw new Error("there is no key for session tokens");
      const sealed = seal(key, context, Buffer.from(JSON.stringify(session)));
      return Buffer.concat([Buffer.of(version), sealed]).toString("base64url");
    },
    read: (token) => {
      const known = opened.get(token);
      if (known !== undefined) return known;
      if (token.length > tokenLengthMax || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined;
      const bytes = Buffer.from(token, "base64url");
      if (bytes[0] !== version) return undefined;
      for (const key of keys()) {
        const session = readWith(key, bytes.subarray(1));
        if (session === undefined) continue;
        opened.set(token, session);
        return session;
      }
      return undefined;
    },
  };
};

/** What this installation has sealed is of the form in which it was written. */
const readWith = (key: KeyObject, sealed: Uint8Array): Session | undefined => {
  try {
    return parseJson(unseal(key, context, sealed).toString("utf8")) as Session;
  } catch (error) {
    if (error instanceof SealBrokenError) return undefined;
    throw error;
  }
};
