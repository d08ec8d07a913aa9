import type { ServiceRequest } from "./service-request.ts";
import { formCall } from "./service-request.ts";

/** A message of a topic. */
interface TopicMessage {
  readonly body: string;
  /** Of subscribers by mail. Unset: none. */
  readonly subject?: string;
  /** Of a topic that keeps the order: the group in which it does. */
  readonly groupId?: string | undefined;
  /** Of a topic that keeps the order: it drops another message with the same id that comes within minutes. */
  readonly deduplicationId?: string | undefined;
}

/** The request that publishes a message to a topic. */
export const publishMessage = (topicArn: string, message: TopicMessage): ServiceRequest =>
  formCall({
    Action: "Publish",
    Version: "2010-03-31",
    TopicArn: topicArn,
    Subject: message.subject,
    Message: message.body,
    MessageGroupId: message.groupId,
    MessageDeduplicationId: message.deduplicationId,
  });
