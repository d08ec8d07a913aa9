import { parseArn } from "../../kit/arn/arn.ts";
import type { Store } from "../../kit/store/store.ts";
import type { BusLogLine, BusLogWriter } from "./bus-logs.ts";
import type { ServiceEndpoints } from "./connectors.ts";
import type { DeliveryStreams } from "./delivery-streams.ts";
import type { LogGroupFiles } from "./log-group-files.ts";
import type { ServiceClient } from "../../kit/outgoing/service-client.ts";
import type { ServiceRequest } from "../../kit/outgoing/service-request.ts";
import { targetCall } from "../../kit/outgoing/service-request.ts";
import { logGroupName, nameIn } from "./service-request.ts";

/** The stream of a log group that has the records of buses. */
const logStreamName = "event-bus";

/** The parts with which logs are written. */
interface WriterParts {
  readonly client: ServiceClient;
  readonly endpoints: ServiceEndpoints;
  readonly logGroups: Pick<LogGroupFiles, "append">;
  readonly streams: DeliveryStreams;
  readonly store: Pick<Store, "transact">;
}

/** Writes to log groups, in files unless an endpoint for them is configured, and to delivery streams. */
export const busLogWriter = ({ client, endpoints, logGroups, streams, store }: WriterParts): BusLogWriter => ({
  async write(targetArn, account, records) {
    const arn = parseArn(targetArn);
    const texts = records.map(({ text }) => text);
    if (streams.has(targetArn)) {
      if (!streams.hasRoom(targetArn)) return false;
      await store.transact((transaction) => streams.append(transaction, targetArn, texts));
      return true;
    }
    const isLogGroup = arn?.service === "logs";
    const endpoint = isLogGroup ? endpoints.logs : endpoints.firehose;
    if (arn === undefined || (endpoint === undefined && !isLogGroup))
      throw new Error(`this installation has no endpoint for ${targetArn}`);
    if (endpoint === undefined) {
      await logGroups.append(arn, account, texts);
      return true;
    }
    const group = logGroupName(arn);
    const signal = AbortSignal.timeout(30_000);
    const outcome = isLogGroup
      ? await client.call(endpoint, "logs", putLogEvents(group, records), signal, createLogStream(group))
      : await client.call(endpoint, "firehose", putRecordBatch(nameIn(arn), records), signal);
    if (outcome.kind === "failed") throw new Error(`${outcome.code}: ${outcome.message}`);
    return outcome.kind === "delivered";
  },
});

const putLogEvents = (logGroup: string, records: readonly BusLogLine[]): ServiceRequest =>
  targetCall("Logs_20140328.PutLogEvents", "1.1", {
    logGroupName: logGroup,
    logStreamName,
    logEvents: records.map(({ atMs, text }) => ({ timestamp: atMs, message: text })),
  });

const createLogStream = (logGroup: string): ServiceRequest =>
  targetCall("Logs_20140328.CreateLogStream", "1.1", { logGroupName: logGroup, logStreamName });

const putRecordBatch = (stream: string, records: readonly BusLogLine[]): ServiceRequest =>
  targetCall("Firehose_20150804.PutRecordBatch", "1.1", {
    DeliveryStreamName: stream,
    Records: records.map(({ text }) => ({ Data: Buffer.from(`${text}\n`).toString("base64") })),
  });
