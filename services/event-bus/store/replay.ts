import type { MessageInitShape } from "@bufbuild/protobuf";

import type { ReplayRecord, ReplayRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { ErrorReason, fault } from "../faults.ts";
import { replays } from "./layout.ts";

export const findReplay = (reader: Reader, account: string, name: string): Promise<ReplayRecord | undefined> =>
  reader.get(replays, [account, name]);

/** The replay. Throws REPLAY_NOT_FOUND. */
export const getReplay = async (reader: Reader, account: string, name: string): Promise<ReplayRecord> => {
  const replay = await findReplay(reader, account, name);
  if (replay === undefined) throw fault(ErrorReason.REPLAY_NOT_FOUND, { name });
  return replay;
};

/** At most `limit` replays of an account by name, of those that are accepted. */
export const listReplays = async (
  reader: Reader,
  account: string,
  options: { readonly namePrefix: string; readonly after: string | undefined; readonly limit: number },
  accepts: (replay: ReplayRecord) => boolean = () => true,
): Promise<ReplayRecord[]> => {
  const found: ReplayRecord[] = [];
  const range = reader.range(replays, {
    prefix: [account, options.namePrefix],
    textPrefix: true,
    ...(options.after === undefined ? {} : { after: [account, options.after] as const }),
  });
  for await (const { value } of range) {
    if (accepts(value)) found.push(value);
    if (found.length === options.limit) break;
  }
  return found;
};

/** True while a replay has not ended. */
export const isActive = ({ state }: Pick<ReplayRecord, "state">): boolean =>
  state === ReplayState.STARTING || state === ReplayState.RUNNING || state === ReplayState.CANCELLING;

export const putReplay = (
  transaction: Transaction,
  account: string,
  replay: MessageInitShape<typeof ReplayRecordSchema> & { readonly name: string },
): void => transaction.put(replays, [account, replay.name], replay);
