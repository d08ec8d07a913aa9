import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { memberNotOffered } from "../faults.ts";

/** Members of requests that ask for something that is not offered. Undefined ones were not given. */
export interface UnofferedMembers {
  readonly serverSideEncryption?: ServerSideEncryption;
  readonly sseCustomerAlgorithm?: string;
  readonly sseCustomerKey?: string;
  readonly sseCustomerKeyMd5?: string;
  readonly sseKmsKeyId?: string;
  readonly sseKmsEncryptionContext?: string;
  readonly bucketKeyEnabled?: boolean;
  readonly copySourceSseCustomerAlgorithm?: string;
  readonly copySourceSseCustomerKey?: string;
  readonly copySourceSseCustomerKeyMd5?: string;
  readonly bucketNamespace?: string;
  readonly writeOffsetBytes?: bigint;
  readonly annotationDirective?: string;
}

type Member = keyof UnofferedMembers;

/** The header of each member, and the values with which it asks only for what is offered. */
const unoffered: Readonly<Record<Member, readonly [header: string, harmless?: readonly unknown[]]>> = {
  serverSideEncryption: ["x-svc-server-side-encryption", [ServerSideEncryption.UNSPECIFIED]],
  sseCustomerAlgorithm: ["x-svc-server-side-encryption-customer-algorithm"],
  sseCustomerKey: ["x-svc-server-side-encryption-customer-key"],
  sseCustomerKeyMd5: ["x-svc-server-side-encryption-customer-key-MD5"],
  sseKmsKeyId: ["x-svc-server-side-encryption-svc-kms-key-id"],
  sseKmsEncryptionContext: ["x-svc-server-side-encryption-context"],
  bucketKeyEnabled: ["x-svc-server-side-encryption-bucket-key-enabled", [false]],
  copySourceSseCustomerAlgorithm: ["x-svc-copy-source-server-side-encryption-customer-algorithm"],
  copySourceSseCustomerKey: ["x-svc-copy-source-server-side-encryption-customer-key"],
  copySourceSseCustomerKeyMd5: ["x-svc-copy-source-server-side-encryption-customer-key-MD5"],
  bucketNamespace: ["x-svc-bucket-namespace", ["global"]],
  writeOffsetBytes: ["x-svc-write-offset-bytes"],
  annotationDirective: ["x-svc-object-annotation-directive"],
};

const members = Object.keys(unoffered) as Member[];

/** Throws MEMBER_NOT_IMPLEMENTED for the first member that asks for something not offered, so none is ignored. */
export const checkOffered = (request: UnofferedMembers): void => {
  for (const member of members) {
    const value = request[member];
    const [header, harmless = []] = unoffered[member];
    if (value !== undefined && !harmless.includes(value)) throw memberNotOffered(header);
  }
};
