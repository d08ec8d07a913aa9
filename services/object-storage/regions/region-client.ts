import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";

import type { PutObjectReplicaRequestSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { createTransport } from "../../kit/client/transport.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import { signedHeaders } from "../../kit/outgoing/signature.ts";
import { limits } from "../limits.ts";

/** One message of a replica that is sent. */
export type ReplicaMessage = MessageInitShape<typeof PutObjectReplicaRequestSchema>;

/** Another region as a place where replicas are stored. */
export interface RegionClient {
  /**
   * Stores a version there; false if only its tags were sent and the version is not there. Rejects with a ConnectError,
   * and with a StalledError if nothing was taken for a while.
   */
  putReplica(messages: AsyncIterable<ReplicaMessage>, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

/** Another region took nothing of what was sent, or did not answer. */
export class StalledError extends Error {
  override readonly name = "StalledError";
}

const { putObjectReplica } = ObjectStorageService.method;
/** The service's name in signatures. */
const signedService = "s3";
/** What signatures cover instead of content that is not known yet; it comes with a checksum of its own. */
const unsigned = "UNSIGNED-PAYLOAD";

/** Calls a region at its gateway, each call signed with the key of that region. */
export const regionClient = (
  endpoint: ServiceEndpoint,
  clock: Pick<Clock, "now">,
  stallMs: number = limits.regionStallMs,
): RegionClient => {
  const { origin } = new URL(endpoint.url);
  // A call is made again as a job is, which knows whether that helps.
  const transport = createTransport({ address: origin, engine: "connect", retry: { attemptsMax: 1 } });
  const client = createClient(ObjectStorageService, transport);
  const url = new URL(`/${ObjectStorageService.typeName}/${putObjectReplica.name}`, origin);
  return {
    async putReplica(messages, signal) {
      const headers = signedHeaders(
        { method: "POST", url, headers: { "x-amz-content-sha256": unsigned }, body: "" },
        { ...endpoint, service: signedService, payloadHash: unsigned },
        clock.now(),
      );
      const stall = new AbortController();
      const timer = setTimeout(() => stall.abort(new StalledError("the region did not go on")), stallMs);
      async function* watched(): AsyncGenerator<ReplicaMessage> {
        for await (const message of messages) {
          timer.refresh();
          yield message;
        }
        timer.refresh();
      }
      try {
        const either = AbortSignal.any([signal, stall.signal]);
        return (await client.putObjectReplica(watched(), { headers, signal: either })).stored;
      } catch (error) {
        throw stall.signal.aborted ? stall.signal.reason : error;
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => transport.close(),
  };
};
