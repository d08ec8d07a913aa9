import { create } from "@bufbuild/protobuf";

import type { PolicyRecord, PolicyVersionRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { PolicyVersionRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { limits } from "../limits.ts";
import { charactersOf, identityDocument } from "./documents.ts";
import { conflict, exceeded, noSuch } from "./entities.ts";

/** `v1`, and so on. */
export const versionId = ({ number }: Pick<PolicyVersionRecord, "number">): string => `v${number}`;

/** Returns the document of a managed policy as it may be stored. Throws MALFORMED_POLICY, LIMIT_EXCEEDED. */
export const checkedManaged = (text: string): string => {
  const document = identityDocument(text);
  const { managedPolicyCharactersMax } = limits;
  if (charactersOf(document) > managedPolicyCharactersMax) throw exceeded("PolicySize", managedPolicyCharactersMax);
  return document;
};

/** Throws NO_SUCH_ENTITY. */
export const getVersion = (policy: PolicyRecord, id: string): PolicyVersionRecord => {
  const found = policy.versions.find((version) => versionId(version) === id);
  if (found === undefined) throw noSuch("policy version", id);
  return found;
};

/** The policy with one version more, and that version. Throws LIMIT_EXCEEDED. */
export const withVersion = (
  policy: PolicyRecord,
  document: string,
  createdMs: number,
): { readonly policy: PolicyRecord; readonly added: PolicyVersionRecord } => {
  const { policyVersionsMax } = limits;
  if (policy.versions.length >= policyVersionsMax) throw exceeded("versions of a policy", policyVersionsMax);
  const number = policy.lastVersion + 1;
  const added = create(PolicyVersionRecordSchema, { number, document, createdMs: BigInt(createdMs) });
  return { policy: { ...policy, versions: [...policy.versions, added], lastVersion: number }, added };
};

/** The policy without a version. Throws NO_SUCH_ENTITY, and DELETE_CONFLICT for the one that counts. */
export const withoutVersion = (policy: PolicyRecord, id: string): PolicyRecord => {
  const { number } = getVersion(policy, id);
  if (number === policy.defaultVersion) throw conflict("make another version of the policy the default one");
  return { ...policy, versions: policy.versions.filter((version) => version.number !== number) };
};
