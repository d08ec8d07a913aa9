/** The strings in which the dialects' signatures differ; everything else about signing is the same in both. */
export interface SignatureBrand {
  /** First line of the string to sign, `AWS4-HMAC-SHA256`. */
  readonly algorithm: string;
  /** Last part of a credential scope, `aws4_request`. */
  readonly terminator: string;
  /** The prefix of the secret in the first step of key derivation, `AWS4`. */
  readonly keySeed: string;
  /** Lower case with the hyphen, `x-amz-`. */
  readonly headerPrefix: string;
  /** As spelled in presigned URLs, `X-Amz-`. */
  readonly queryPrefix: string;
  /** Beginning of the payload names of signed chunks, `STREAMING-AWS4-`. */
  readonly streamingPrefix: string;
  /** Content coding of chunked payloads, `aws-chunked`. */
  readonly chunkedCoding: string;
}

/** The algorithm with which requests for several regions are signed, `AWS4-ECDSA-P256-SHA256`. */
export const asymmetricAlgorithm = (brand: SignatureBrand): string => `${brand.keySeed}-ECDSA-P256-SHA256`;

/** The name of the brand in signatures of version 2 and in names of members, `AWS`. */
export const brandName = (brand: SignatureBrand): string => brand.keySeed.replace(/\d+$/, "");
