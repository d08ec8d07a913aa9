import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { EventBusClient } from "../harness.ts";
import { ownerAccount } from "../harness.ts";

/** What the ARNs of the owner account's resources begin with. */
export const arnPrefix = `arn:aws:events:us-east-1:${ownerAccount}`;

/** The ARN of the owner account's default bus. */
export const defaultBus = `${arnPrefix}:event-bus/default`;

/** Puts events of the shop on the default bus, each a minute after the one before. */
export const sell = async (client: EventBusClient, startMs: number, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    const time = timestampFromMs(startMs + n * 60_000);
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: `{"n":${n}}`, time }] });
  }
};

/** Starts the replay `again` of the archive `sales`; any member may be changed. */
export const startReplay = (client: EventBusClient, startMs: number, endMs: number, change: object = {}) =>
  client.startReplay({
    replayName: "again",
    eventSourceArn: `${arnPrefix}:archive/sales`,
    eventStartTime: timestampFromMs(startMs),
    eventEndTime: timestampFromMs(endMs),
    destination: { arn: defaultBus },
    ...change,
  });
