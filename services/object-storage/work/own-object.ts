import { create } from "@bufbuild/protobuf";

import type { PutObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import {
  ObjectStorageService,
  PutObjectRequestSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { rootCaller } from "../../kit/identity/caller.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { CallContext, ClientStreamingHandler } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { handlers } from "../service.ts";

/** An object that the service itself writes. */
export interface OwnObject {
  readonly bucket: string;
  readonly key: string;
  readonly contentType: string;
}

/**
 * Puts an object as the root of an account would, with everything that the bucket's configuration makes of it. Throws
 * the refusal of the operation.
 */
export const putOwnObject = async (
  app: Application,
  log: Logger,
  accountId: string,
  object: OwnObject,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> => {
  async function* messages(): AsyncGenerator<PutObjectRequest> {
    yield create(PutObjectRequestSchema, object);
    for await (const piece of body) yield create(PutObjectRequestSchema, { body: piece });
  }
  const method = ObjectStorageService.method.putObject;
  const context: CallContext<Application> = {
    app,
    method,
    access: undefined,
    caller: rootCaller(accountId),
    requestId: app.ids.uuid(),
    signal,
    deadlineMs: undefined,
    requestHeader: new Headers(),
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    log,
  };
  await (handlers.putObject as ClientStreamingHandler<typeof method, Application>)(messages(), context);
};
