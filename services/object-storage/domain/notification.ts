import { create } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  NotificationConfiguration,
  NotificationConfigurationFilter,
} from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import { NotificationConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import { fault, invalidArgument, memberNotOffered } from "../faults.ts";

/** One entry with a destination. */
interface DestinationEntry {
  readonly id?: string;
  readonly events: readonly string[];
  readonly filter?: NotificationConfigurationFilter;
}

/** The names of events, and of families of events, `…:*`. */
const eventNames = new Set([
  ...family("s3:ObjectCreated", ["Put", "Post", "Copy", "CompleteMultipartUpload"]),
  ...family("s3:ObjectRemoved", ["Delete", "DeleteMarkerCreated"]),
  ...family("s3:ObjectRestore", ["Post", "Completed", "Delete"]),
  ...family("s3:Replication", [
    "OperationFailedReplication",
    "OperationNotTracked",
    "OperationMissedThreshold",
    "OperationReplicatedAfterThreshold",
  ]),
  ...family("s3:LifecycleExpiration", ["Delete", "DeleteMarkerCreated"]),
  ...family("s3:ObjectTagging", ["Put", "Delete"]),
  "s3:LifecycleTransition",
  "s3:IntelligentTiering",
  "s3:ObjectAcl:Put",
  "s3:ReducedRedundancyLostObject",
]);

/**
 * The configuration, as it is stored. Checks, in order:
 *  1. the entries follow the rules (INVALID_ARGUMENT, MALFORMED_XML);
 *  2. there is no topic, queue or function (MEMBER_NOT_IMPLEMENTED): nothing is delivered to them, and storing a
 *     destination that is never notified would lose events silently.
 */
export const planNotification = (configuration: NotificationConfiguration): NotificationConfiguration => {
  const { topicConfigurations, queueConfigurations, functionConfigurations } = configuration;
  for (const entry of topicConfigurations) checkEntry(entry, entry.topicArn);
  for (const entry of queueConfigurations) checkEntry(entry, entry.queueArn);
  for (const entry of functionConfigurations) checkEntry(entry, entry.functionArn);
  checkIds([...topicConfigurations, ...queueConfigurations, ...functionConfigurations]);
  if (topicConfigurations.length > 0) throw memberNotOffered("TopicConfiguration");
  if (queueConfigurations.length > 0) throw memberNotOffered("QueueConfiguration");
  if (functionConfigurations.length > 0) throw memberNotOffered("CloudFunctionConfiguration");
  return configuration;
};

/** The configuration of a bucket for which none was put. */
export const noNotification = (): NotificationConfiguration => create(NotificationConfigurationSchema);

const checkEntry = (entry: DestinationEntry, destination: string | undefined): void => {
  if (destination === undefined || destination === "" || entry.events.length === 0)
    throw fault(ErrorReason.MALFORMED_XML);
  for (const name of entry.events)
    if (!eventNames.has(name.replace(/^svc:/, "s3:")))
      throw invalidArgument("Event", name, "The event is not supported for notifications");
  const rules = entry.filter?.key?.filterRules ?? [];
  const names = rules.map((rule) => (rule.name ?? "").toLowerCase());
  for (const name of names)
    if (name !== "prefix" && name !== "suffix")
      throw invalidArgument("FilterRule.Name", name, "filter rule name must be either prefix or suffix");
  if (new Set(names).size < names.length)
    throw invalidArgument(
      "FilterRule.Name",
      names.join(),
      "Cannot specify more than one prefix or suffix rule in a filter.",
    );
};

const checkIds = (entries: readonly DestinationEntry[]): void => {
  const seen = new Set<string>();
  for (const { id } of entries) {
    if (id === undefined) continue;
    if (seen.has(id)) throw invalidArgument("Id", id, "Configurations on the same bucket cannot share the same id.");
    seen.add(id);
  }
};

function family(name: string, members: readonly string[]): string[] {
  return [`${name}:*`, ...members.map((member) => `${name}:${member}`)];
}
