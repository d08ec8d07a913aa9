import type { SignedHead, VerifiedRequest } from "../../../gateway/signature/verify.ts";
import { verifyHead } from "../../../gateway/signature/verify.ts";

/** A request with its whole body, for APIs whose clients do not declare its hash. */
export interface SignedRequest extends Omit<SignedHead, "verifiesWholeBody"> {
  readonly body?: Uint8Array | undefined;
}

/** Verifies a request that has arrived whole. */
export const verifyRequest = ({ body, ...head }: SignedRequest): VerifiedRequest =>
  verifyHead({ ...head, verifiesWholeBody: body !== undefined }).withBody(body);
