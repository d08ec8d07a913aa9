import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { DefaultEncryptionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { DefaultEncryptionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type {
  ServerSideEncryptionConfiguration,
  ServerSideEncryptionConfigurationSchema,
} from "../../../gen/quartet/objectstorage/v1/default_encryption_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument } from "../faults.ts";

const { AES256, KMS, KMS_DSSE, UNSPECIFIED } = ServerSideEncryption;

/** The kinds of encryption that a bucket can block; NONE blocks nothing, and is kept to be read back. */
const blockableTypes: ReadonlySet<string> = new Set(["NONE", "SSE-C"]);

/**
 * The default encryption of a document. Checks, in order:
 *  1. it has one rule, with an algorithm if it has a default, and blocks only known kinds (MALFORMED_XML);
 *  2. a managed key is named only for managed keys (INVALID_ARGUMENT).
 */
export const planDefaultEncryption = (
  configuration: ServerSideEncryptionConfiguration | undefined,
): DefaultEncryptionRecord => {
  const [rule, ...others] = configuration?.rules ?? [];
  if (rule === undefined || others.length > 0) throw fault(ErrorReason.MALFORMED_XML);
  const { applyServerSideEncryptionByDefault: byDefault, bucketKeyEnabled, blockedEncryptionTypes } = rule;
  const algorithm = byDefault === undefined ? AES256 : byDefault.sseAlgorithm;
  const blockedTypes = blockedEncryptionTypes?.encryptionType ?? [];
  if (algorithm === UNSPECIFIED || !blockedTypes.every((type) => blockableTypes.has(type)))
    throw fault(ErrorReason.MALFORMED_XML);
  const isKms = algorithm !== AES256;
  const keyName = byDefault?.kmsMasterKeyId ?? "";
  if (!isKms && keyName !== "")
    throw invalidArgument(
      "ApplyServerSideEncryptionByDefault",
      "null",
      "a KMSMasterKeyID is not applicable if the default sse algorithm is not svc:kms or svc:kms:dsse",
    );
  return create(DefaultEncryptionRecordSchema, {
    isKms,
    keyName,
    isDualLayer: algorithm === KMS_DSSE,
    ...(bucketKeyEnabled === undefined ? {} : { isBucketKeyEnabled: bucketKeyEnabled }),
    blockedTypes,
  });
};

/** The document of a default encryption; without one that of all buckets. */
export const describeDefaultEncryption = (
  record: DefaultEncryptionRecord | undefined,
): MessageInitShape<typeof ServerSideEncryptionConfigurationSchema> => {
  const { isKms = false, isDualLayer = false, keyName = "", blockedTypes = [] } = record ?? {};
  return {
    rules: [
      {
        applyServerSideEncryptionByDefault: {
          sseAlgorithm: isDualLayer ? KMS_DSSE : isKms ? KMS : AES256,
          kmsMasterKeyId: keyName || undefined,
        },
        bucketKeyEnabled: record?.isBucketKeyEnabled ?? false,
        ...(blockedTypes.length === 0 ? {} : { blockedEncryptionTypes: { encryptionType: [...blockedTypes] } }),
      },
    ],
  };
};
