import { create } from "@bufbuild/protobuf";

import type {
  FlowRecord,
  FlowRun,
  IntegrationRecord,
} from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { FlowPositionSchema } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ServiceError } from "../../../kit/faults/service-error.ts";
import type { Reader, Transaction } from "../../../kit/store/transaction.ts";
import type { RecordOutcome } from "../../domain/flow/working-record.ts";
import { idBytes, idText } from "../../domain/identifier.ts";
import type { RequestedObject } from "../../ingestion/requested-object.ts";
import { attachRequested, requestObject } from "../../ingestion/requested-object.ts";
import type { OpenDomain } from "../../store/domain.ts";
import { fault } from "../../faults.ts";
import { findDomain, openDomain } from "../../store/domain.ts";
import { findFlow, putFlow } from "../../store/flow.ts";
import { findIntegration } from "../../store/integration.ts";
import { isDamage } from "../damage.ts";
import { findQueue, isPlaceless, leaveLetter, leaveLetterOf } from "../leave-dead-letter.ts";
import { withRead } from "./flow-progress.ts";
import type { FlowPlace, FlowTools } from "./flow-tools.ts";

/** The flow was put again, deleted or disabled, so there is nothing more to do for it. */
export class FlowOver extends Error {}

/** A flow that goes on. */
interface LiveFlow {
  readonly flow: FlowRecord;
  readonly integration: IntegrationRecord;
}

/** The flow of a place. Throws FlowOver. */
export const getLiveFlow = async (reader: Reader, { domainId, uri, generation }: FlowPlace): Promise<LiveFlow> => {
  const flow = await findFlow(reader, domainId, uri);
  if (flow === undefined || idText(flow.generation) !== idText(generation)) throw new FlowOver();
  const [integration, domain] = await Promise.all([
    findIntegration(reader, domainId, uri),
    findDomain(reader, flow.account, flow.domainName),
  ]);
  const isDomains = domain !== undefined && idText(domain.domainId) === idText(domainId);
  if (!isDomains || integration === undefined || integration.isDisabled) throw new FlowOver();
  return { flow, integration };
};

/** A record that was read, and what the tasks made of it. */
export interface ReadRecord {
  readonly outcome: Exclude<RecordOutcome, { readonly kind: "ended" }>;
  /** Empty where nobody asks for it: the tasks have left it out. */
  readonly text: string;
  /** The bytes of its object up to its end. */
  readonly endBytes: number;
}

/** The object that records are of. */
interface ReadObject {
  readonly key: string;
  readonly eTag: string;
}

/**
 * Puts the objects that records became, and stores how far the run is with them, in one transaction: after a crash no
 * record is lost, and none is put twice. If one is refused, or a record of its profile is damaged, each half is put by
 * itself, and so on; the refused ones go to the domain's dead letter queue. Returns the run as it is then. Throws
 * FlowOver.
 */
export const commitRecords = async (
  tools: FlowTools,
  place: FlowPlace,
  run: FlowRun,
  object: ReadObject,
  records: readonly ReadRecord[],
): Promise<FlowRun> => {
  try {
    return await putTogether(tools, place, run, object, records);
  } catch (error) {
    if (!isRefusal(error) && !isDamage(error)) throw error;
    const [only] = records;
    if (only !== undefined && records.length === 1)
      return putRefused(tools, place, run, object, only, isRefusal(error) ? error : fault(ErrorReason.DATA_LOSS));
    const half = Math.ceil(records.length / 2);
    const after = await commitRecords(tools, place, run, object, records.slice(0, half));
    return commitRecords(tools, place, after, object, records.slice(half));
  }
};

/** Whether an object is refused for itself. */
const isRefusal = (error: unknown): error is ServiceError =>
  isPlaceless(error) || (error instanceof ServiceError && invalid.has(error.facts.number));

const invalid = new Set<number>([ErrorReason.OBJECT_INVALID]);

const putTogether = async (
  { app, counters }: FlowTools,
  place: FlowPlace,
  run: FlowRun,
  object: ReadObject,
  records: readonly ReadRecord[],
): Promise<FlowRun> => {
  const { integration } = await app.store.read((reader) => getLiveFlow(reader, place));
  const { objectTypeName } = integration;
  const steps = records.map((record) =>
    record.outcome.kind === "object"
      ? { record, requested: requestObject(app, objectTypeName, record.outcome.text), letterId: undefined }
      : { record, requested: undefined, letterId: idBytes(app.ids.hex(32)) },
  );
  const count = (kind: string): number => records.filter(({ outcome }) => outcome.kind === kind).length;
  const [ingested, leftOut, failed] = [count("object"), count("left-out"), count("failed")];
  const problem = records
    .map(({ outcome }) => (outcome.kind === "failed" ? outcome.reason : ""))
    .find((each) => each !== "");
  const offsetBytes = records.at(-1)?.endBytes ?? 0;
  const after = withRead(
    run,
    { position: positionAt(object, offsetBytes) },
    { ingested, leftOut, failed, ...(problem && { problem }) },
  );
  await app.store.transact(async (transaction) => {
    const { flow, domain } = await openFlow(app, transaction, place);
    for (const { record, requested, letterId } of steps) {
      if (requested !== undefined) await attachRequested(transaction, domain, requested);
      else if (record.outcome.kind === "failed") {
        const queue = await findQueue(app, transaction, domain);
        if (queue !== undefined)
          await leaveLetter(app, transaction, domain, queue, {
            letterId,
            domainName: flow.domainName,
            objectTypeName,
            objectKey: undefined,
            text: record.text,
            errorCode: "RECORD_INVALID",
            errorMessage: `A record of ${object.key} cannot be processed: ${record.outcome.reason}`,
            failedMs: app.clock.now(),
          });
      }
    }
    putFlow(transaction, place.domainId, place.uri, { ...flow, run: after, problem: "" });
  });
  counters.addRecords("ingested", ingested);
  counters.addRecords("left-out", leftOut);
  counters.addRecords("failed", failed);
  return after;
};

const putRefused = async (
  { app, counters }: FlowTools,
  place: FlowPlace,
  run: FlowRun,
  object: ReadObject,
  record: ReadRecord,
  error: ServiceError,
): Promise<FlowRun> => {
  const letterId = idBytes(app.ids.hex(32));
  const position = positionAt(object, record.endBytes);
  const after = withRead(run, { position }, { failed: 1, problem: error.message });
  await app.store.transact(async (transaction) => {
    const { flow, integration, domain } = await openFlow(app, transaction, place);
    const { objectTypeName } = integration;
    const queue = await findQueue(app, transaction, domain);
    const text = record.outcome.kind === "object" ? record.outcome.text : record.text;
    const { domainName } = flow;
    if (queue !== undefined && isPlaceless(error)) {
      const requested: RequestedObject = requestObject(app, objectTypeName, text);
      await leaveLetterOf(app, transaction, domain, queue, { domainName, requested, letterId, error });
    } else if (queue !== undefined)
      await leaveLetter(app, transaction, domain, queue, {
        letterId,
        domainName,
        objectTypeName,
        objectKey: undefined,
        text,
        errorCode: error.facts.reason,
        errorMessage: error.message,
        failedMs: app.clock.now(),
      });
    putFlow(transaction, place.domainId, place.uri, { ...flow, run: after, problem: "" });
  });
  counters.addRecords("failed", 1);
  return after;
};

const positionAt = ({ key, eTag }: ReadObject, offsetBytes: number) =>
  create(FlowPositionSchema, { key, eTag, offsetBytes: BigInt(offsetBytes) });

const openFlow = async (
  app: FlowTools["app"],
  transaction: Transaction,
  place: FlowPlace,
): Promise<LiveFlow & { readonly domain: OpenDomain }> => {
  const live = await getLiveFlow(transaction, place);
  const { account, domainName } = live.flow;
  return { ...live, domain: await openDomain(transaction, app.keyring, account, domainName) };
};
