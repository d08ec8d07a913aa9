import type { DialectSpelling } from "../dialects/dialect.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { Payload } from "../signature/payload.ts";
import type { ReplacedHeaders } from "./request-headers.ts";

const none: ReplacedHeaders = new Map();

/**
 * The headers of a body in chunks after decoding: the length is the decoded one, and the content coding of the chunks
 * is removed, while other codings are kept for the stored object. An announced checksum names its algorithm, so that it
 * is computed while the body arrives.
 */
export const replacedHeaders = (head: RequestHead, payload: Payload, spelling: DialectSpelling): ReplacedHeaders => {
  const coding = head.headers["content-encoding"];
  const { chunkedCoding } = spelling.dialect.signature;
  const isCoded = coding?.includes(chunkedCoding) ?? false;
  if (payload.kind !== "chunked" && !isCoded) return none;

  const overrides = new Map<string, string | undefined>();
  if (payload.kind === "chunked") {
    overrides.set("content-length", String(payload.decodedLength));
    const named = spelling.header("x-svc-sdk-checksum-algorithm");
    const algorithm = announcedAlgorithm(payload.trailerNames, spelling.header("x-svc-checksum-"));
    if (algorithm !== undefined && head.headers[named] === undefined) overrides.set(named, algorithm);
  }
  if (coding !== undefined && isCoded) {
    const others = coding
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== chunkedCoding && each !== "");
    overrides.set("content-encoding", others.length === 0 ? undefined : others.join(","));
  }
  return overrides;
};

/** The algorithm of the checksum among announced trailers; undefined if there is none, or several. */
const announcedAlgorithm = (trailerNames: readonly string[], prefix: string): string | undefined => {
  const [name, second] = trailerNames.filter((each) => each.startsWith(prefix));
  return name === undefined || second !== undefined ? undefined : name.slice(prefix.length).toUpperCase();
};
