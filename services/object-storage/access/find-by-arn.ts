import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { AskedResource, KnownResource } from "../../kit/access/policy-service.ts";
import type { Question } from "../../kit/access/questions.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { findBucket } from "../store/bucket.ts";
import type { AccessApplication } from "./resources.ts";
import { factsOf, ResourceFinder } from "./resources.ts";

/**
 * Finds a bucket, or a key of one, as a request for the action by the principal would meet it: with its policy as far
 * as it counts, ownership, ACL and public access block. Undefined: there is no such bucket, or the action creates it.
 */
export const findByArn = async (
  app: AccessApplication,
  { arn, action, principal }: AskedResource,
): Promise<KnownResource | undefined> => {
  const resource = parseArn(arn)?.resource ?? "";
  const [name = ""] = resource.split("/", 1);
  return app.store.read(async (reader) => {
    const bucket = await findBucket(reader, name);
    if (bucket === undefined || action === creation) return undefined;
    const call = { app, caller: principal, method: ObjectStorageService.method.headBucket };
    const finder = new ResourceFinder(call, reader, {
      own: await factsOf(reader, bucket, app),
      source: undefined,
      ownText: undefined,
    });
    return finder.find(questionOf(action, resource, resource === name ? "{bucket}" : "{bucket}/{key}"));
  });
};

const creation = "CreateBucket";

/** The question of a request of which only the action and the resource are known. */
const questionOf = (action: string, resource: string, template: string): Question => ({
  permission: { action, template, resource: [], list: undefined, element: undefined, appliesTo: () => true },
  resource,
  read: () => undefined,
  element: undefined,
});
