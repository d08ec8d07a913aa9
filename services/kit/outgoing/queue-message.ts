import type { ServiceRequest } from "./service-request.ts";
import { targetCall } from "./service-request.ts";

/** The queue that a message is sent to, at whatever endpoint. */
interface Queue {
  /** 12 digits. */
  readonly account: string;
  /** Ends with `.fifo` if the queue keeps the order of its messages. */
  readonly name: string;
}

/** A message of a queue. */
interface QueueMessage {
  readonly body: string;
  /** Attributes by name; a number is sent as one. Unset: none. */
  readonly attributes?: Readonly<Record<string, string | number>>;
  /** Of a queue that keeps the order: the group in which it does. */
  readonly groupId?: string | undefined;
  /** Of a queue that keeps the order: it drops another message with the same id that comes within minutes. */
  readonly deduplicationId?: string | undefined;
}

/** The request that sends a message. A queue that does not keep the order gets no deduplication id. */
export const sendMessage = (endpointUrl: string, { account, name }: Queue, message: QueueMessage): ServiceRequest =>
  targetCall("AmazonSQS.SendMessage", "1.0", {
    QueueUrl: `${endpointUrl.replace(/\/$/, "")}/${account}/${name}`,
    MessageBody: message.body,
    MessageAttributes:
      message.attributes &&
      Object.fromEntries(
        Object.entries(message.attributes).map(([key, value]) => [
          key,
          { DataType: typeof value === "number" ? "Number" : "String", StringValue: String(value) },
        ]),
      ),
    MessageGroupId: message.groupId,
    MessageDeduplicationId: name.endsWith(".fifo") ? message.deduplicationId : undefined,
  });
