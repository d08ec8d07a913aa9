import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { SignatureBrand } from "./brand.ts";
import { asymmetricAlgorithm } from "./brand.ts";
import type { HeaderIndex } from "./canonical.ts";
import { brandHeader } from "./claim.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { SigningKey } from "./signing-key.ts";

/** How `decodeBody` reads the body of a verified request. */
export type Payload = PlainPayload | ExactPayload | ChunkedPayload;

/** The bytes on the wire are the body, which is not signed or was compared with its hash already. */
export interface PlainPayload {
  readonly kind: "plain";
}

/** The bytes on the wire are the body, which must have this hash, lower-case hexadecimal. */
export interface ExactPayload {
  readonly kind: "exact";
  readonly sha256: string;
}

/** The body is framed in chunks. */
export interface ChunkedPayload {
  readonly kind: "chunked";
  /** Bytes of the body without its chunk framing. */
  readonly decodedLength: number;
  readonly hasTrailer: boolean;
  /** The announced trailers, lower case. */
  readonly trailerNames: readonly string[];
  /** How each chunk is signed; undefined if chunks are not. */
  readonly chain: ChunkChain | undefined;
}

/** The signatures of chunks, each of which covers the one before it. */
export interface ChunkChain {
  readonly key: SigningKey;
  readonly chunkAlgorithm: string;
  readonly trailerAlgorithm: string;
  readonly timestamp: string;
  readonly scope: string;
  /** The signature of the request itself. */
  readonly seed: string;
  /** The name of the trailer with the signature of the trailers. */
  readonly trailerSignatureName: string;
}

/** What a request declares about the hash of its body. */
export type PayloadClaim =
  | { readonly kind: "undeclared" }
  | { readonly kind: "unsigned" }
  | { readonly kind: "exact"; readonly sha256: string }
  | {
      readonly kind: "chunked";
      readonly isSigned: boolean;
      readonly isAsymmetric: boolean;
      readonly hasTrailer: boolean;
    };

const unsignedPayload = "UNSIGNED-PAYLOAD";
const unsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/** The name of the header or parameter that declares the hash, without its prefix. */
export const payloadHashName = "content-sha256";

/** Parses the value of the header that declares the hash. Throws INVALID_PAYLOAD_HASH. */
export const readPayloadClaim = (value: string | undefined, brand: SignatureBrand): PayloadClaim => {
  if (value === undefined) return { kind: "undeclared" };
  if (value === unsignedPayload) return { kind: "unsigned" };
  if (value === unsignedTrailer) return { kind: "chunked", isSigned: false, isAsymmetric: false, hasTrailer: true };
  if (/^[0-9a-fA-F]{64}$/.test(value)) return { kind: "exact", sha256: value.toLowerCase() };
  const isStreaming = value.startsWith(brand.streamingPrefix);
  const form = isStreaming
    ? /^(HMAC|ECDSA-P256)-SHA256-PAYLOAD(-TRAILER)?$/.exec(value.slice(brand.streamingPrefix.length))
    : null;
  if (form === null)
    throw refusal(ErrorReason.INVALID_PAYLOAD_HASH, {
      argument_name: brand.headerPrefix + payloadHashName,
      argument_value: value,
    });
  return { kind: "chunked", isSigned: true, isAsymmetric: form[1] !== "HMAC", hasTrailer: form[2] !== undefined };
};

/** The refusal of a body whose hash is not the declared one; both in hexadecimal. */
export const payloadMismatch = (declared: string, computed: string): ServiceError =>
  refusal(ErrorReason.PAYLOAD_MISMATCH, {
    client_computed_content_SHA256: declared,
    s3_computed_content_SHA256: computed,
  });

/** How to read the body. `chain` is used only for signed chunks. Throws MISSING_DECODED_LENGTH. */
export const payloadOf = (
  claim: PayloadClaim,
  headers: HeaderIndex,
  brand: SignatureBrand,
  chain: ChunkChain | undefined,
): Payload => {
  if (claim.kind === "exact") return claim;
  if (claim.kind !== "chunked") return { kind: "plain" };
  const length = brandHeader(headers, brand, "decoded-content-length");
  if (length === undefined || !/^\d{1,15}$/.test(length)) throw refusal(ErrorReason.MISSING_DECODED_LENGTH);
  const announced = claim.hasTrailer ? (brandHeader(headers, brand, "trailer") ?? "") : "";
  return {
    kind: "chunked",
    decodedLength: Number(length),
    hasTrailer: claim.hasTrailer,
    trailerNames: announced
      .split(",")
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ""),
    chain: claim.isSigned ? chain : undefined,
  };
};

/** The chain that begins with the signature of the request. */
export const chunkChain = (
  brand: SignatureBrand,
  isAsymmetric: boolean,
  start: Pick<ChunkChain, "key" | "timestamp" | "scope" | "seed">,
): ChunkChain => {
  const algorithm = isAsymmetric ? asymmetricAlgorithm(brand) : brand.algorithm;
  return {
    ...start,
    chunkAlgorithm: `${algorithm}-PAYLOAD`,
    trailerAlgorithm: `${algorithm}-TRAILER`,
    trailerSignatureName: `${brand.headerPrefix}trailer-signature`,
  };
};
