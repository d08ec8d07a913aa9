import { create } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  NotificationConfiguration,
  NotificationConfigurationFilter,
  OlderNotificationConfiguration,
} from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import { NotificationConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { fault, invalidArgument, memberNotOffered } from "../faults.ts";

/** The services whose resources are notified, as ARNs and connectors name them. */
export type NotifiedService = "sqs" | "sns" | "lambda";

/** One entry of a configuration. */
export interface Destination {
  readonly service: NotifiedService;
  readonly id: string;
  /** The queue, topic or function; empty if the entry names none. */
  readonly arn: string;
  readonly events: readonly string[];
  readonly filter: NotificationConfigurationFilter | undefined;
}

/** What destinations of a bucket must fit. */
export interface NotifiedPlace {
  readonly accountId: string;
  readonly region: string;
  /** The services that notifications reach. */
  readonly reached: ReadonlySet<NotifiedService>;
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

/** Entries of all kinds that a bucket has at most. */
const destinationsMax = 100;

const members: Readonly<Record<NotifiedService, string>> = {
  sns: "TopicConfiguration",
  sqs: "QueueConfiguration",
  lambda: "CloudFunctionConfiguration",
};

/**
 * The configuration as it is stored, with an id for each entry. Checks, in order:
 *  1. the entries follow the rules, and are not too many (INVALID_ARGUMENT, MALFORMED_XML);
 *  2. their services are reached (MEMBER_NOT_IMPLEMENTED): storing a destination that is never notified would lose
 *     events silently;
 *  3. their ARNs are of these services, and of the bucket's account and region (INVALID_ARGUMENT);
 *  4. no two entries are for the same event of the same key (INVALID_ARGUMENT).
 */
export const planNotification = (
  configuration: NotificationConfiguration,
  place: NotifiedPlace,
  newId: () => string,
): NotificationConfiguration => {
  const destinations = destinationsOf(configuration);
  for (const each of destinations) checkEntry(each);
  checkIds(destinations);
  if (destinations.length > destinationsMax)
    throw invalidArgument(
      "Configurations",
      String(destinations.length),
      `A bucket can have at most ${destinationsMax} notification configurations.`,
    );
  for (const { service } of destinations) if (!place.reached.has(service)) throw memberNotOffered(members[service]);
  for (const each of destinations) checkArn(each, place);
  checkOverlaps(destinations.map((each) => ({ ...each, events: [...new Set(each.events.map(publicName))] })));
  const named = <Given extends { readonly id?: string; readonly events: readonly string[] }>(entry: Given) => ({
    ...entry,
    id: entry.id || newId(),
    events: [...new Set(entry.events)],
  });
  return {
    ...configuration,
    topicConfigurations: configuration.topicConfigurations.map(named),
    queueConfigurations: configuration.queueConfigurations.map(named),
    functionConfigurations: configuration.functionConfigurations.map(named),
  };
};

/** The configuration of a bucket for which none was put. */
export const noNotification = (): NotificationConfiguration => create(NotificationConfigurationSchema);

/** The entries of a configuration: topics, queues, then functions. */
export const destinationsOf = ({
  topicConfigurations,
  queueConfigurations,
  functionConfigurations,
}: NotificationConfiguration): readonly Destination[] => [
  ...topicConfigurations.map((entry) => destinationOf("sns", entry, entry.topicArn)),
  ...queueConfigurations.map((entry) => destinationOf("sqs", entry, entry.queueArn)),
  ...functionConfigurations.map((entry) => destinationOf("lambda", entry, entry.functionArn)),
];

/** The entries of a configuration that are notified of an event of a key. */
export const notifiedOf = (
  configuration: NotificationConfiguration,
  eventName: string,
  key: string,
): readonly Destination[] =>
  destinationsOf(configuration).filter(
    ({ events, filter }) =>
      events.some((name) => isOfFamily(eventName, publicName(name))) &&
      key.startsWith(textOf(filter, "prefix")) &&
      key.endsWith(textOf(filter, "suffix")),
  );

/** A configuration in its older form, which has one entry of each kind. */
export const fromOlder = (older: OlderNotificationConfiguration): NotificationConfiguration => {
  const { topicConfiguration: topic, queueConfiguration: queue, cloudFunctionConfiguration: called } = older;
  const eventsOf = ({ event, events }: { readonly event?: string; readonly events: readonly string[] }) => [
    ...new Set([...events, ...(event === undefined ? [] : [event])]),
  ];
  return create(NotificationConfigurationSchema, {
    topicConfigurations: topic === undefined ? [] : [{ id: topic.id, topicArn: topic.topic, events: eventsOf(topic) }],
    queueConfigurations: queue === undefined ? [] : [{ id: queue.id, queueArn: queue.queue, events: eventsOf(queue) }],
    functionConfigurations:
      called === undefined ? [] : [{ id: called.id, functionArn: called.cloudFunction, events: eventsOf(called) }],
  });
};

/** The first entry of each kind, in the older form. */
export const toOlder = (configuration: NotificationConfiguration) => {
  const [topic] = configuration.topicConfigurations;
  const [queue] = configuration.queueConfigurations;
  const [called] = configuration.functionConfigurations;
  const both = ({ id, events }: { readonly id?: string; readonly events: readonly string[] }) => ({
    id,
    events: [...events],
    event: events[0],
  });
  return {
    ...(topic && { topicConfiguration: { ...both(topic), topic: topic.topicArn } }),
    ...(queue && { queueConfiguration: { ...both(queue), queue: queue.queueArn } }),
    ...(called && { cloudFunctionConfiguration: { ...both(called), cloudFunction: called.functionArn } }),
  };
};

type Entry = Pick<Destination, "events"> & {
  readonly id?: string;
  readonly filter?: NotificationConfigurationFilter;
};

const destinationOf = (
  service: NotifiedService,
  { id = "", events, filter }: Entry,
  arn: string | undefined,
): Destination => ({ service, id, arn: arn ?? "", events, filter });

const checkEntry = ({ arn, events, filter }: Destination): void => {
  if (arn === "" || events.length === 0) throw fault(ErrorReason.MALFORMED_XML);
  for (const name of events)
    if (!eventNames.has(publicName(name)))
      throw invalidArgument("Event", name, "The event is not supported for notifications");
  const rules = filter?.key?.filterRules ?? [];
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

const checkIds = (destinations: readonly Destination[]): void => {
  const seen = new Set<string>();
  for (const { id } of destinations) {
    if (id === "") continue;
    if (seen.has(id)) throw invalidArgument("Id", id, "Configurations on the same bucket cannot share the same id.");
    seen.add(id);
  }
};

const checkArn = ({ service, arn }: Destination, { accountId, region }: NotifiedPlace): void => {
  const parts = parseArn(arn);
  const isFunction = service !== "lambda" || parts?.resource.startsWith("function:") === true;
  if (parts === undefined || parts.service !== service || !isFunction)
    throw invalidArgument(members[service], arn, "The ARN could not be parsed");
  if (parts.region !== region)
    throw invalidArgument(
      members[service],
      arn,
      "The notification destination service region is not valid for the bucket location constraint",
    );
  if (parts.account !== accountId) throw notValidated(service, arn);
};

/** The refusal of a destination that nothing can be sent to. */
export const notValidated = (service: NotifiedService, arn: string): Error =>
  invalidArgument(members[service], arn, "Unable to validate the following destination configurations");

const checkOverlaps = (destinations: readonly Destination[]): void => {
  for (const [index, one] of destinations.entries())
    for (const other of destinations.slice(index + 1))
      if (overlap(one, other))
        throw invalidArgument(
          "Event",
          one.events.join(),
          "Configurations overlap. Configurations on the same bucket cannot share a common event type.",
        );
};

/** Whether an event of some key is for both, whose events have their public names. */
const overlap = (one: Destination, other: Destination): boolean => {
  const shareEvent = one.events.some((a) => other.events.some((b) => isOfFamily(a, b) || isOfFamily(b, a)));
  if (!shareEvent) return false;
  const [prefix, otherPrefix] = [textOf(one.filter, "prefix"), textOf(other.filter, "prefix")];
  const [suffix, otherSuffix] = [textOf(one.filter, "suffix"), textOf(other.filter, "suffix")];
  return (
    (prefix.startsWith(otherPrefix) || otherPrefix.startsWith(prefix)) &&
    (suffix.endsWith(otherSuffix) || otherSuffix.endsWith(suffix))
  );
};

/** Whether a name is another, or belongs to a family `…:*`. */
const isOfFamily = (name: string, other: string): boolean =>
  other.endsWith(":*") ? name.startsWith(other.slice(0, -1)) : name === other;

/** Of `svc:ObjectCreated:*`, as the documented dialect writes it, `s3:ObjectCreated:*`. */
const publicName = (name: string): string => name.replace(/^svc:/, "s3:");

const textOf = (filter: NotificationConfigurationFilter | undefined, name: "prefix" | "suffix"): string =>
  filter?.key?.filterRules.find((rule) => rule.name?.toLowerCase() === name)?.value ?? "";

function family(name: string, names: readonly string[]): string[] {
  return [`${name}:*`, ...names.map((each) => `${name}:${each}`)];
}
