import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import { ErrorReason, fault } from "../faults.ts";
import { brokerPrefix, hasHeaders, parseBrokerTarget } from "./broker.ts";
import { placeholdersOf, predefinedNames } from "./template.ts";
import { isPath } from "../json/json-path.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/**
 * The first refusal of the targets of one call to a rule of an account, in the order of the targets; undefined if all
 * are accepted. Of each target it checks, in this order:
 * 1. no earlier target has its id;
 * 2. its ARN is one, and not that of an action which only the public console can take;
 * 3. it has at most one of input, input path and input transformer, and none if it is a bus of another account;
 * 4. its input is JSON;
 * 5. its transformer names no reserved variable and uses no unknown one;
 * 6. a FIFO queue has a message group, and what cannot run without parameters of its kind has these;
 * 7. what it names at a broker has the form of such names;
 * 8. it can be sent headers, if it is given CloudEvents in the binary mode;
 * 9. the key of its order is a JSON path.
 */
export const refuseTargets = (account: string, targets: readonly Target[]): ServiceError | undefined => {
  const ids = new Set<string>();
  for (const target of targets) {
    if (ids.has(target.id)) return fault(ErrorReason.DUPLICATE_ENTRY, { kind: "target id", key: target.id });
    ids.add(target.id);
    const refusal = refuseTarget(account, target);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
};

/** The services whose resources are reached in the name of a role. */
const servicesWithRole: ReadonlySet<string> = new Set(["ec2", "kinesis", "states", "execute-api"]);

/** Whether the kind of a target is reached in the name of a role only. */
export const needsRole = ({ arn }: Pick<Target, "arn">): boolean => servicesWithRole.has(parseArn(arn)?.service ?? "");

/** The kinds of targets whose calls say what to run in parameters of their own. */
const kindsWithParameters: readonly {
  readonly services: readonly string[];
  readonly resourcePrefix: string;
  readonly name: string;
  readonly isSet: (target: Target) => boolean;
}[] = [
  {
    services: ["ecs"],
    resourcePrefix: "cluster/",
    name: "EcsParameters",
    isSet: ({ ecsParameters }) => ecsParameters !== undefined,
  },
  {
    services: ["batch"],
    resourcePrefix: "job-queue/",
    name: "BatchParameters",
    isSet: ({ batchParameters }) => batchParameters !== undefined,
  },
  {
    services: ["ssm"],
    resourcePrefix: "document/",
    name: "RunCommandParameters",
    isSet: ({ runCommandParameters }) => runCommandParameters !== undefined,
  },
  {
    services: ["redshift", "redshift-serverless"],
    resourcePrefix: "",
    name: "RedshiftDataParameters",
    isSet: ({ redshiftDataParameters }) => redshiftDataParameters !== undefined,
  },
];

const refuseTarget = (account: string, target: Target): ServiceError | undefined => {
  const parsed = parseArn(target.arn);
  if (parsed === undefined) return fault(ErrorReason.TARGET_ARN_MALFORMED, { arn: target.arn });
  if (["events", "event-bus"].includes(parsed.service) && parsed.resource.startsWith("target/"))
    return fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: target.id,
      reason: `${target.arn} is an action that only the public console can take.`,
    });
  const isBroker = ["events", "event-bus"].includes(parsed.service) && parsed.resource.startsWith(brokerPrefix);
  const isDestination = parsed.resource.startsWith("api-destination/");
  const inputs = [target.input, target.inputPath, target.inputTransformer].filter((input) => input !== undefined);
  if (inputs.length > 1) return fault(ErrorReason.TARGET_INPUT_AMBIGUOUS, { target: target.id });
  const isForeignBus = parsed.resource.startsWith("event-bus/") && parsed.account !== account;
  if (isForeignBus && inputs.length > 0)
    return fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: target.id,
      reason: "Input, InputPath and InputTransformer are not available when the target is a bus of another account.",
    });
  if (target.input !== undefined && !isJson(target.input))
    return fault(ErrorReason.TARGET_INPUT_NOT_JSON, { target: target.id });
  if (target.inputTransformer !== undefined) {
    const refusal = refuseTransformer(target.id, target.inputTransformer);
    if (refusal !== undefined) return refusal;
  }
  const isOrderedQueue = parsed.service === "sqs" && parsed.resource.endsWith(".fifo");
  if (isOrderedQueue && target.sqsParameters?.messageGroupId === undefined)
    return fault(ErrorReason.TARGET_MESSAGE_GROUP_MISSING, { target: target.id });
  const kind = kindsWithParameters.find(
    ({ services, resourcePrefix }) => services.includes(parsed.service) && parsed.resource.startsWith(resourcePrefix),
  );
  if (kind?.isSet(target) === false)
    return fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: kind.name,
      reason: `${kind.name} is required for target ${target.id}.`,
    });
  if (isBroker && parseBrokerTarget(target.arn) === undefined)
    return fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: target.id,
      reason: `${target.arn} does not name a subject, queue, exchange, stream, channel, table, topic or webhook.`,
    });
  if (target.cloudEventParameters?.contentMode === "BINARY" && !isDestination && !hasHeaders(target.arn))
    return fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: target.id,
      reason: `${target.arn} has no headers for the binary mode of CloudEvents.`,
    });
  const keyPath = target.orderedDelivery?.keyPath;
  if (keyPath !== undefined && !isPath(keyPath))
    return fault(ErrorReason.PARAMETER_REFUSED, { parameter: target.id, reason: `${keyPath} is not a JSON path.` });
  return undefined;
};

const refuseTransformer = (
  target: string,
  { inputPathsMap, inputTemplate }: NonNullable<Target["inputTransformer"]>,
): ServiceError | undefined => {
  const names = Object.keys(inputPathsMap);
  if (names.some((name) => /^aws/i.test(name))) return fault(ErrorReason.TARGET_PLACEHOLDER_RESERVED, { target });
  const unknown = placeholdersOf(inputTemplate).find((name) => !names.includes(name) && !predefinedNames.has(name));
  return unknown === undefined
    ? undefined
    : fault(ErrorReason.TARGET_PLACEHOLDER_UNKNOWN, { target, placeholder: unknown });
};

const isJson = (text: string): boolean => {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
};
