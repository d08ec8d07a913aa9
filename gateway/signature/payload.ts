import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { SignatureBrand } from "./brand.ts";
import { asymmetricAlgorithm } from "./brand.ts";
import type { HeaderIndex } from "./canonical.ts";
import { brandHeader } from "./claim.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { SigningKey } from "./signing-key.ts";

/** How the body of a verified request is to be read. `decodeBody` does it. */
export type Payload = PlainPayload | ExactPayload | ChunkedPayload;

/** The body is as it is on the wire, and either not signed or already compared with its hash. */
export interface PlainPayload {
  readonly kind: "plain";
}

/** The body is as it is on the wire and must have this hash, lower-case hexadecimal. */
export interface ExactPayload {
  readonly kind: "exact";
  readonly sha256: string;
}

/** The body comes in chunks, which `decodeBody` takes apart. */
export interface ChunkedPayload {
  readonly kind: "chunked";
  /** Bytes of the body without its chunk framing. */
  readonly decodedLength: number;
  readonly hasTrailer: boolean;
  /** The announced trailers, lower case. */
  readonly trailerNames: readonly string[];
  /** How each chunk is signed; undefined when chunks are not. */
  readonly chain: ChunkChain | undefined;
}

/** What ties each chunk's signature to the one before it. */
export interface ChunkChain {
  readonly key: SigningKey;
  readonly chunkAlgorithm: string;
  readonly trailerAlgorithm: string;
  readonly timestamp: string;
  readonly scope: string;
  /** The signature of the request itself. */
  readonly seed: string;
  /** The trailer in which the trailers' own signature comes. */
  readonly trailerSignatureName: string;
}

/** What a request says about the hash of its body. */
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

/** The name of the header, or parameter less its prefix, that declares the hash. */
export const payloadHashName = "content-sha256";

/** Understands the value of the header that declares the hash. Throws ServiceError. */
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

/** How to read the body; `chain` is needed, and used, only when the claim says that the chunks are signed. */
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

/** The chain that begins with a request's own signature. */
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
