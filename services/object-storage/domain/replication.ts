import type {
  ReplicationConfiguration,
  ReplicationDestination,
  ReplicationRule,
} from "../../../gen/quartet/objectstorage/v1/replication_pb.ts";
import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { fault, invalidArgument, invalidRequest, memberNotOffered } from "../faults.ts";
import { limits } from "../limits.ts";
import { chooseStorageClass } from "./storage-class.ts";
import { indexRules } from "./rule-index.ts";
import type { TagPair } from "./tags.ts";
import { checkTags } from "./tags.ts";

/** The parts of a version that rules of replication depend on. */
export interface Replicable {
  readonly key: string;
  readonly tags: readonly TagPair[];
  readonly isDeleteMarker: boolean;
  /** It is encrypted under a managed key. */
  readonly isUnderManagedKey: boolean;
}

/** The parts of a stored version that rules depend on. */
export const replicable = (key: string, { tags, isDeleteMarker, encryption }: VersionRecord): Replicable => ({
  key,
  tags,
  isDeleteMarker,
  isUnderManagedKey: encryption?.kms !== undefined,
});

/**
 * The rules of a bucket, as they are stored: each has an id. A rule with a filter is of the newer version, in which
 * priorities choose among rules of one destination; one with a prefix alone is of the older. Throws MALFORMED_XML for
 * what breaks the schema, MEMBER_NOT_IMPLEMENTED for what is not offered, and then INVALID_REQUEST and INVALID_ARGUMENT
 * for values and combinations that are not possible.
 */
export const planReplication = (
  configuration: ReplicationConfiguration | undefined,
  makeId: () => string,
): ReplicationConfiguration & { readonly role: string } => {
  const { role = "", rules = [] } = configuration ?? {};
  if (configuration === undefined || role === "" || rules.length === 0 || rules.length > limits.replicationRulesMax)
    throw fault(ErrorReason.MALFORMED_XML);
  for (const rule of rules) checkSchema(rule);
  for (const rule of rules) checkOffered(rule);
  if (parseArn(role)?.service !== "iam" || !/^role\/./.test(parseArn(role)?.resource ?? ""))
    throw invalidArgument("Role", role, "Invalid Role ARN in replication configuration");
  for (const rule of rules) checkValues(rule);
  const ids = rules.flatMap(({ id }) => (id ? [id] : []));
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined)
    throw invalidArgument("ID", repeated, "Rule ID must be unique. Found same ID for more than one rule");
  const priorities = rules.filter(isNewer).map((rule) => `${rule.priority ?? 0} ${destinationOf(rule)}`);
  if (new Set(priorities).size !== priorities.length)
    throw invalidRequest("Found duplicate priority for rules of the same destination");
  return { ...configuration, role, rules: rules.map((rule) => ({ ...rule, id: rule.id || makeId() })) };
};

/** The name of the bucket that a rule copies to. */
export const destinationOf = ({ destination }: Pick<ReplicationRule, "destination">): string => {
  const text = destination?.bucket ?? "";
  const arn = parseArn(text);
  const isBucket = arn !== undefined && /^(?:s3|object-storage)$/.test(arn.service) && !/[:/]/.test(arn.resource);
  return isBucket ? arn.resource : "";
};

/** The rules of a bucket, ready to be asked for each version. */
export interface ReplicationRules {
  readonly role: string | undefined;
  /**
   * The rules that copy a version, by the names of the buckets that they copy to: of several for one bucket the one
   * with the greatest priority.
   */
  readonly rulesFor: (version: Replicable) => ReadonlyMap<string, ReplicationRule>;
}

/** The enabled rules of a configuration. Asking for a version's costs about as much as it has. */
export const readReplication = ({ role, rules }: ReplicationConfiguration): ReplicationRules => {
  const find = indexRules(
    rules
      .filter(({ status }) => status === "Enabled")
      .map((rule) => ({ rule, destination: destinationOf(rule), conditions: conditionsOf(rule) })),
  );
  return {
    role,
    rulesFor: (version) => {
      const chosen = new Map<string, ReplicationRule>();
      // Delete markers have no tags, and are copied by rules without any.
      for (const { rule, destination } of find({
        key: version.key,
        tags: version.isDeleteMarker ? [] : version.tags,
      })) {
        const before = chosen.get(destination);
        if (before === undefined || (rule.priority ?? 0) > (before.priority ?? 0)) chosen.set(destination, rule);
      }
      for (const [destination, rule] of chosen) if (!isCopied(rule, version)) chosen.delete(destination);
      return chosen;
    },
  };
};

/** The status of a version that is a copy itself. */
export const replicaStatus = "REPLICA";

/** Whether a version is a copy of another bucket's. */
export const isReplica = ({ replication }: Pick<VersionRecord, "replication">): boolean =>
  replication?.status === replicaStatus;

/** Whether a rule copies what was there before it as well. */
export const isForExisting = ({ status, existingObjectReplication }: ReplicationRule): boolean =>
  status === "Enabled" && existingObjectReplication?.status === "Enabled";

/** Whether replicas belong to the owner of their bucket, whoever owns the version. */
export const isOwnedByDestination = ({ accessControlTranslation }: ReplicationDestination): boolean =>
  accessControlTranslation?.owner === "Destination";

const isNewer = ({ filter }: ReplicationRule): boolean => filter !== undefined;

const conditionsOf = ({ prefix, filter }: ReplicationRule) => {
  const { and } = filter ?? {};
  const tags = and?.tags ?? (filter?.tag === undefined ? [] : [filter.tag]);
  return {
    prefix: prefix ?? and?.prefix ?? filter?.prefix ?? "",
    tags: tags.map(({ key, value }) => ({ key: key ?? "", value: value ?? "" })),
  };
};

/** Delete markers are copied by rules of the older version, and by newer ones that say so. */
const isCopied = (rule: ReplicationRule, { isDeleteMarker, isUnderManagedKey }: Replicable): boolean => {
  if (isDeleteMarker) return !isNewer(rule) || rule.deleteMarkerReplication?.status === "Enabled";
  return !isUnderManagedKey || rule.sourceSelectionCriteria?.sseKmsEncryptedObjects?.status === "Enabled";
};

const isState = (status: string | undefined): boolean => status === "Enabled" || status === "Disabled";

const checkSchema = (rule: ReplicationRule): void => {
  const { status, prefix, filter, destination, deleteMarkerReplication, sourceSelectionCriteria, id = "" } = rule;
  const { existingObjectReplication: existing } = rule;
  const conditions = [filter?.prefix, filter?.tag, filter?.and].filter((each) => each !== undefined);
  const isValid =
    isState(status) &&
    destination?.bucket !== undefined &&
    id.length <= limits.replicationRuleIdLengthMax &&
    conditions.length <= 1 &&
    (filter === undefined) !== (prefix === undefined) &&
    (filter === undefined || (rule.priority !== undefined && isState(deleteMarkerReplication?.status))) &&
    (deleteMarkerReplication === undefined || filter !== undefined) &&
    (existing === undefined || isState(existing.status)) &&
    (sourceSelectionCriteria?.sseKmsEncryptedObjects === undefined ||
      isState(sourceSelectionCriteria.sseKmsEncryptedObjects.status));
  if (!isValid) throw fault(ErrorReason.MALFORMED_XML);
};

const checkOffered = ({ sourceSelectionCriteria: criteria }: ReplicationRule) => {
  if (criteria?.replicaModifications?.status === "Enabled") throw memberNotOffered("ReplicaModifications");
};

const checkValues = (rule: ReplicationRule): void => {
  const { destination, sourceSelectionCriteria, deleteMarkerReplication } = rule;
  const { account, accessControlTranslation, encryptionConfiguration, storageClass } = destination ?? {};
  if (destinationOf(rule) === "") throw invalidRequest("Invalid bucket ARN.");
  if (account !== undefined && !/^[0-9]{12}$/.test(account))
    throw invalidArgument("Account", account, "Invalid account");
  if (accessControlTranslation !== undefined && account === undefined)
    throw invalidRequest("Account must be specified when AccessControlTranslation is specified");
  if (accessControlTranslation !== undefined && accessControlTranslation.owner !== "Destination")
    throw fault(ErrorReason.MALFORMED_XML);
  if (storageClass !== undefined) chooseStorageClass(storageClass);
  const copiesManaged = sourceSelectionCriteria?.sseKmsEncryptedObjects?.status === "Enabled";
  if (copiesManaged !== (encryptionConfiguration?.replicaKmsKeyId !== undefined))
    throw invalidRequest(
      "SseKmsEncryptedObjects must be enabled if EncryptionConfiguration is present, and needs it otherwise",
    );
  const { tags } = conditionsOf(rule);
  checkTags(tags, limits.tagsPerObjectMax);
  if (tags.length > 0 && deleteMarkerReplication?.status === "Enabled")
    throw invalidRequest("Delete marker replication is not supported if any Tag filter is specified.");
};
