import type { Spelling } from "../dialects/dialect.ts";
import type { RequestHead } from "../pipeline/identify.ts";
import type { Payload } from "../signature/payload.ts";
import type { HeaderOverrides } from "./request-headers.ts";

const none: HeaderOverrides = new Map();

/**
 * What the headers of a body in chunks mean once the chunks are taken apart: the length is the decoded one, and the
 * coding that names the chunks is gone, while other codings stay with what is stored.
 */
export const requestOverrides = (head: RequestHead, payload: Payload, spelling: Spelling): HeaderOverrides => {
  const coding = head.headers["content-encoding"];
  const { chunkedCoding } = spelling.dialect.signature;
  const isCoded = coding?.includes(chunkedCoding) ?? false;
  if (payload.kind !== "chunked" && !isCoded) return none;

  const overrides = new Map<string, string | undefined>();
  if (payload.kind === "chunked") overrides.set("content-length", String(payload.decodedLength));
  if (coding !== undefined && isCoded) {
    const others = coding
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== chunkedCoding && each !== "");
    overrides.set("content-encoding", others.length === 0 ? undefined : others.join(","));
  }
  return overrides;
};
