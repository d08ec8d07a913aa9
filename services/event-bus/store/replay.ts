import type { MessageInitShape } from "@bufbuild/protobuf";

import type { ReplayRecord, ReplayRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { ErrorReason, fault } from "../faults.ts";
import { replays } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/** The replay, or undefined. */
export const findReplay = (reader: Reader, account: string, name: string): Promise<ReplayRecord | undefined> =>
  reader.get(replays, [account, name]);

/** The replay. Throws REPLAY_NOT_FOUND. */
export const getReplay = async (reader: Reader, account: string, name: string): Promise<ReplayRecord> => {
  const replay = await findReplay(reader, account, name);
  if (replay === undefined) throw fault(ErrorReason.REPLAY_NOT_FOUND, { name });
  return replay;
};

/** Replays of an account by name; only those that are accepted. */
export const listReplays = (
  reader: Reader,
  account: string,
  page: NamePage,
  accepts?: (replay: ReplayRecord) => boolean,
): Promise<ReplayRecord[]> => listByName(reader, replays, [account], page, accepts);

/** Whether a replay has not ended yet. */
export const isActive = ({ state }: Pick<ReplayRecord, "state">): boolean =>
  state === ReplayState.STARTING || state === ReplayState.RUNNING || state === ReplayState.CANCELLING;

/** Creates or replaces a replay. */
export const putReplay = (
  transaction: Transaction,
  account: string,
  replay: MessageInitShape<typeof ReplayRecordSchema> & { readonly name: string },
): void => transaction.put(replays, [account, replay.name], replay);
