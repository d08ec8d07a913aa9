import { create } from "@bufbuild/protobuf";

import {
  ApplicationRecordSchema,
  EnvironmentRecordSchema,
  RouteRecordSchema,
  ServiceRecordSchema,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { Tags } from "../../kit/tags/tags.ts";
import type { NamedResource } from "../domain/resource-name.ts";
import { findApplication, putApplication } from "./application.ts";
import { findEnvironment, replaceEnvironment } from "./environment.ts";
import { findRoute, putRoute } from "./route.ts";
import { findService, putService } from "./service.ts";

/** A resource's tags, and how they are replaced. Tags are part of the resource's record. */
export interface Tagged {
  readonly ownerAccountId: string;
  readonly tags: Tags;
  write(transaction: Transaction, tags: Tags): void;
}

/** The tags of a resource of any kind; undefined if it does not exist. */
export const findTagged = async (reader: Reader, resource: NamedResource): Promise<Tagged | undefined> => {
  const { environmentId } = resource;
  if (resource.kind === "environment") {
    const record = await findEnvironment(reader, environmentId);
    return (
      record &&
      tagged(record, (to, tags) => replaceEnvironment(to, create(EnvironmentRecordSchema, { ...record, tags })))
    );
  }
  const { applicationId } = resource;
  if (resource.kind === "application") {
    const record = await findApplication(reader, environmentId, applicationId);
    return (
      record && tagged(record, (to, tags) => putApplication(to, create(ApplicationRecordSchema, { ...record, tags })))
    );
  }
  if (resource.kind === "service") {
    const record = await findService(reader, environmentId, applicationId, resource.serviceId);
    return record && tagged(record, (to, tags) => putService(to, create(ServiceRecordSchema, { ...record, tags })));
  }
  const record = await findRoute(reader, environmentId, applicationId, resource.routeId);
  return record && tagged(record, (to, tags) => putRoute(to, create(RouteRecordSchema, { ...record, tags })));
};

const tagged = (
  { ownerAccountId, tags }: { readonly ownerAccountId: string; readonly tags: Tags },
  write: (transaction: Transaction, tags: Record<string, string>) => void,
): Tagged => ({ ownerAccountId, tags, write: (transaction, changed) => write(transaction, { ...changed }) });
