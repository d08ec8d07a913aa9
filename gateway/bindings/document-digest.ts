import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { DigestAlgorithm } from "../../services/kit/digests/digest.ts";
import { digestAlgorithms, digestBytes, openDigest } from "../../services/kit/digests/digest.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { BoundHeaders } from "./request-headers.ts";

/** The member by which requests name the checksum of their document. */
const algorithmHeader = "x-svc-sdk-checksum-algorithm";

/**
 * Compares a document with the digests that the client sent with it. The service receives only the message, so its
 * bytes are known only here. Checksum headers are about the document only where the request can name the algorithm of
 * one; elsewhere they are members, as the checksum of the object that an upload becomes. Rejects with
 * INVALID_CONTENT_MD5, INVALID_CHECKSUM and BAD_DIGEST.
 */
export const checkDocumentDigests = async (
  method: MethodContract,
  headers: BoundHeaders,
  body: Buffer,
): Promise<void> => {
  const contentMd5 = headers.get("content-md5");
  if (contentMd5 !== undefined) {
    const expected = decode(contentMd5, "MD5");
    if (expected === undefined) throw refusal(ErrorReason.INVALID_CONTENT_MD5, { content_md5: contentMd5 });
    await compare(body, "MD5", expected, "Content-MD5");
  }
  if (!hasDocumentChecksum(method)) return;
  for (const algorithm of digestAlgorithms) {
    const given = headers.get(`x-svc-checksum-${algorithm.toLowerCase()}`);
    if (given === undefined) continue;
    const expected = decode(given, algorithm);
    if (expected === undefined) throw refusal(ErrorReason.INVALID_CHECKSUM, { algorithm });
    await compare(body, algorithm, expected, algorithm);
  }
};

const hasDocumentChecksum = (method: MethodContract): boolean =>
  method.input.fields.some(({ location }) => location.kind === "header" && location.name === algorithmHeader);

/** The bytes of a digest in base64; undefined if they are not as many as the digest has. */
const decode = (text: string, algorithm: DigestAlgorithm): Buffer | undefined => {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === digestBytes[algorithm] ? bytes : undefined;
};

const compare = async (body: Buffer, algorithm: DigestAlgorithm, expected: Buffer, name: string): Promise<void> => {
  const digest = await openDigest(algorithm);
  digest.update(body);
  const calculated = Buffer.from(digest.finish());
  if (expected.equals(calculated)) return;
  throw refusal(ErrorReason.BAD_DIGEST, {
    algorithm: name,
    calculated_digest: calculated.toString("base64"),
    expected_digest: expected.toString("base64"),
  });
};
