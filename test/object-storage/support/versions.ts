import { openDigest } from "../../../services/kit/digests/digest.ts";

/** The id of a version that was made at an instant; `random` is 18 hexadecimal digits. */
export const idAt = (ms: number, random = "123456789abcdef012"): string =>
  (ms * 1000).toString(16).padStart(14, "0") + random;

/** The CRC64NVME checksum of content, in base64. */
export const crc64Of = async (body: Uint8Array): Promise<string> => {
  const digest = await openDigest("CRC64NVME");
  digest.update(body);
  return Buffer.from(digest.finish()).toString("base64");
};
