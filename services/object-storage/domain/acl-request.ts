import { create } from "@bufbuild/protobuf";

import type { AclRecord, GrantRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { AclRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { AccessControlPolicy, Grantee } from "../../../gen/quartet/objectstorage/v1/access_control_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";
import type { AclGroup, AclOwners, AclPermission, CannedAcl } from "./acl.ts";
import { aclPermissions, cannedAcl, groupUris, toGroup, toUser } from "./acl.ts";

/** The ACL members of a request. Undefined ones were not given. */
export interface AclMembers {
  readonly acl?: string;
  readonly grantFullControl?: string;
  readonly grantRead?: string;
  readonly grantReadAcp?: string;
  readonly grantWrite?: string;
  readonly grantWriteAcp?: string;
  readonly accessControlPolicy?: AccessControlPolicy;
}

/** What a request wants as an ACL. Unset: it has none, so that the default counts. */
export type RequestedAcl =
  | { readonly kind: "canned"; readonly name: CannedAcl }
  | { readonly kind: "grants"; readonly acl: AclRecord; readonly ownerId: string | undefined };

/** How grants may name accounts. */
export interface Grantees {
  /** The declared accounts, by whose addresses grants may name them. */
  readonly accounts: {
    list(): readonly { readonly email: string | undefined; readonly canonicalUserId: string }[];
  };
  /** Whether grants may name accounts by their addresses at all. */
  readonly acceptsEmailGrants: boolean;
}

/** The permission of each header with grants. */
const grantHeaders = [
  ["grantFullControl", "FULL_CONTROL"],
  ["grantRead", "READ"],
  ["grantReadAcp", "READ_ACP"],
  ["grantWrite", "WRITE"],
  ["grantWriteAcp", "WRITE_ACP"],
] as const;

/**
 * Reads the ACL of a request. Checks, in order:
 *  1. it has a canned ACL or grants, not both (INVALID_REQUEST);
 *  2. it has headers or a document, not both (UNEXPECTED_CONTENT);
 *  3. the document follows its schema and has at most 100 grants (MALFORMED_ACL);
 *  4. each grantee can be an account or is a group (INVALID_ARGUMENT, UNRESOLVABLE_GRANT); it is no e-mail address
 *     where those are refused (METHOD_NOT_ALLOWED).
 */
export const readAcl = (request: AclMembers, grantees: Grantees): RequestedAcl | undefined => {
  const { acl, accessControlPolicy } = request;
  const headers = grantHeaders.filter(([member]) => request[member] !== undefined);
  if (acl !== undefined && headers.length > 0)
    throw invalidRequest("Specifying both Canned ACLs and Header Grants is not allowed");
  if (accessControlPolicy !== undefined && (acl !== undefined || headers.length > 0))
    throw fault(ErrorReason.UNEXPECTED_CONTENT);
  if (acl !== undefined) return { kind: "canned", name: acl as CannedAcl };
  if (accessControlPolicy !== undefined) return readDocument(accessControlPolicy, grantees);
  if (headers.length === 0) return undefined;
  const grants = headers.flatMap(([member, permission]) =>
    readGrantHeader(request[member] ?? "", permission, grantees),
  );
  checkCount(grants);
  return { kind: "grants", acl: create(AclRecordSchema, { grants }), ownerId: undefined };
};

/** The list that a request means for a bucket or object of these owners; undefined: the owner's full control. */
export const aclOf = (requested: RequestedAcl | undefined, owners: AclOwners): AclRecord | undefined => {
  if (requested === undefined) return undefined;
  return requested.kind === "grants" ? requested.acl : cannedAcl(requested.name, owners);
};

const readDocument = ({ grants, owner }: AccessControlPolicy, grantees: Grantees): RequestedAcl => {
  if (owner?.id === undefined) throw fault(ErrorReason.MALFORMED_ACL);
  const records = grants.map(({ grantee, permission }) => {
    const known = aclPermissions.find((each) => each === permission);
    if (grantee === undefined || known === undefined) throw fault(ErrorReason.MALFORMED_ACL);
    return readGrantee(grantee, known, grantees);
  });
  checkCount(records);
  return { kind: "grants", acl: create(AclRecordSchema, { grants: records }), ownerId: owner.id };
};

const readGrantee = (grantee: Grantee, permission: AclPermission, grantees: Grantees): GrantRecord => {
  const { type, id, uri, emailAddress } = grantee;
  if (type === "CanonicalUser" && id !== undefined) return userGrant(id, permission);
  if (type === "Group" && uri !== undefined) return groupGrant(uri, permission);
  if (type === "AmazonCustomerByEmail" && emailAddress !== undefined)
    return emailGrant(emailAddress, permission, grantees);
  throw fault(ErrorReason.MALFORMED_ACL);
};

/** Reads `id="…", uri="…", emailAddress="…"`; the quotes are optional. */
const readGrantHeader = (text: string, permission: AclPermission, grantees: Grantees): GrantRecord[] =>
  text.split(",").map((pair) => {
    const [, type, quoted, plain] = /^([A-Za-z]+)\s*=\s*(?:"([^"]*)"|([^"\s]*))$/.exec(pair.trim()) ?? [];
    const value = quoted ?? plain ?? "";
    if (type?.toLowerCase() === "id") return userGrant(value, permission);
    if (type?.toLowerCase() === "uri") return groupGrant(value, permission);
    if (type?.toLowerCase() === "emailaddress") return emailGrant(value, permission, grantees);
    throw invalidArgument("x-svc-grant", pair.trim(), "Argument format not recognized");
  });

const userGrant = (id: string, permission: AclPermission): GrantRecord => {
  if (!/^[0-9a-f]{64}$/.test(id)) throw invalidArgument("id", id, "Invalid id");
  return toUser(id, permission);
};

const groupGrant = (uri: string, permission: AclPermission): GrantRecord => {
  const group = (Object.keys(groupUris) as AclGroup[]).find((name) => groupUris[name] === uri);
  if (group === undefined) throw invalidArgument("uri", uri, "Invalid group uri");
  return toGroup(group, permission);
};

const emailGrant = (email: string, permission: AclPermission, grantees: Grantees): GrantRecord => {
  if (!grantees.acceptsEmailGrants) throw fault(ErrorReason.METHOD_NOT_ALLOWED, { resource_type: "ACL" });
  const wanted = email.toLowerCase();
  const id = grantees.accounts.list().find((account) => account.email?.toLowerCase() === wanted)?.canonicalUserId;
  if (id === undefined) throw fault(ErrorReason.UNRESOLVABLE_GRANT);
  return toUser(id, permission);
};

const checkCount = (grants: readonly GrantRecord[]): void => {
  if (grants.length > limits.grantsPerAclMax) throw fault(ErrorReason.MALFORMED_ACL);
};
