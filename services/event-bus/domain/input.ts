import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { readPath } from "../json/json-path.ts";
import { eventJson, eventTime, eventWithoutDetailJson } from "./envelope.ts";
import { fillInputTemplate } from "./template.ts";

/** The event, target and rule of one invocation. */
interface Invocation {
  readonly event: EventRecord;
  readonly target: Target;
  readonly ruleArn: string;
  readonly ruleName: string;
  readonly ingestedMs: number;
}

/**
 * The input of a target: its constant, a part of the event, its filled template, or the whole event. Undefined if the
 * filled template is not JSON. A path to an absent value results in an empty string. Throws FilledTooLongError
 * and PathsTooCostlyError.
 */
export const targetInput = (invocation: Invocation): string | undefined => {
  const { event, target } = invocation;
  if (target.input !== undefined) return target.input;
  const whole = eventJson(event);
  if (target.inputPath !== undefined) return readPath(whole, target.inputPath) ?? '""';
  if (target.inputTransformer === undefined) return whole;
  return fillInputTemplate(target.inputTransformer.inputTemplate, {
    event: whole,
    paths: target.inputTransformer.inputPathsMap,
    predefined: {
      "aws.events.rule-arn": JSON.stringify(invocation.ruleArn),
      "aws.events.rule-name": JSON.stringify(invocation.ruleName),
      "aws.events.event.ingestion-time": JSON.stringify(eventTime(invocation.ingestedMs)),
      "aws.events.event": eventWithoutDetailJson(event),
      "aws.events.event.json": whole,
    },
  });
};
