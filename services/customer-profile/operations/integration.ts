/**
 * Integrations. Putting refuses reserved tag keys, then what is incomplete, then a domain, then an object type that is
 * not there, then a flow name of another integration, then one integration too many; the others refuse a domain, then
 * an integration, that is not there. Integrations are kept and told; reading from the source is not offered.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { IntegrationRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { IntegrationRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { FlowDefinition } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Operation } from "../application.ts";
import { findIntegrationProblem, madeUri, objectTypesOf } from "../domain/integration-rules.ts";
import { objectTemplates } from "../domain/object-templates.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { getDomain } from "../store/domain.ts";
import * as stored from "../store/integration.ts";
import { getObjectType } from "../store/object-type.ts";
import { pageAnswer, pageOf } from "./page.ts";
import { refuseReservedTagKeys } from "./tag.ts";

/** Makes or replaces an integration; tags of an existing one stay. */
export const putIntegration: Operation<"putIntegration"> = async (request, { app, caller }) => {
  refuseReservedTagKeys(request.tags);
  const problem = findIntegrationProblem(request);
  if (problem !== undefined) throw fault(ErrorReason.INTEGRATION_INVALID, { problem });
  const nowMs = app.clock.now();
  const uri = request.uri ?? madeUri(request.domainName, request, nowMs);

  return app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, caller.accountId, request.domainName);
    for (const name of objectTypesOf(request))
      if (!objectTemplates.has(name)) await getObjectType(transaction, domainId, name);
    const before = await stored.findIntegration(transaction, domainId, uri);
    await refuseConflicts(transaction, domainId, uri, request.flowDefinition, before === undefined);
    const after = create(IntegrationRecordSchema, {
      uri,
      objectTypeName: request.objectTypeName ?? "",
      objectTypeNames: request.objectTypeNames,
      flowDefinition: request.flowDefinition,
      roleArn: request.roleArn ?? "",
      eventTriggerNames: request.eventTriggerNames,
      scope: request.scope ?? "",
      createdTime: before?.createdTime ?? timestampFromMs(nowMs),
      updatedTime: timestampFromMs(nowMs),
      tags: before?.tags ?? request.tags,
    });
    stored.putIntegration(
      transaction,
      { accountId: caller.accountId, domainName: request.domainName, domainId },
      after,
    );
    return integrationAnswer(request.domainName, after);
  });
};

/** Tells an integration. */
export const getIntegration: Operation<"getIntegration"> = (request, { app, caller }) =>
  app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, caller.accountId, request.domainName);
    return integrationAnswer(request.domainName, await stored.getIntegration(reader, domainId, request.uri));
  });

/** Removes an integration; what it brought stays. A second call is refused. */
export const deleteIntegration: Operation<"deleteIntegration"> = async (request, { app, caller }) => {
  await app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, caller.accountId, request.domainName);
    await stored.getIntegration(transaction, domainId, request.uri);
    const owner = { accountId: caller.accountId, domainName: request.domainName, domainId };
    stored.removeIntegration(transaction, owner, request.uri);
  });

  return { message: "OK" };
};

/** Lists the integrations of a domain, by address. */
export const listIntegrations: Operation<"listIntegrations"> = async (request, { app, caller }) => {
  const binding = { caller: caller.accountId, operation: "ListIntegrations", filters: [request.domainName] };
  const page = pageOf(app, binding, request);
  const found = await app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, caller.accountId, request.domainName);
    return stored.listIntegrations(reader, domainId, page.after, page.itemsMax + 1);
  });

  return pageAnswer(page, found, {
    positionOf: ({ key }) => key[1],
    itemOf: ({ value }) => integrationAnswer(request.domainName, value),
  });
};

/** Lists the integrations of the account that read from one address, by domain. */
export const listAccountIntegrations: Operation<"listAccountIntegrations"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const binding = { caller: accountId, operation: "ListAccountIntegrations", filters: [request.uri] };
  const page = pageOf(app, binding, request);
  const found = await app.store.read(async (reader) => {
    const names = await stored.listDomainsReading(reader, accountId, request.uri, page.after, page.itemsMax + 1);
    return Promise.all(
      names.map(async (domainName) => {
        const { domainId } = await getDomain(reader, accountId, domainName);
        return { domainName, record: await stored.getIntegration(reader, domainId, request.uri) };
      }),
    );
  });

  return pageAnswer(page, found, {
    positionOf: ({ domainName }) => domainName,
    itemOf: ({ domainName, record }) => integrationAnswer(domainName, record),
  });
};

const refuseConflicts = async (
  reader: Reader,
  domainId: Uint8Array,
  uri: string,
  flowDefinition: FlowDefinition | undefined,
  isNew: boolean,
): Promise<void> => {
  const countMax = limits.integrationsPerDomainMax;
  const others = await stored.listIntegrations(reader, domainId, undefined, countMax);
  const flowName = flowDefinition?.flowName;
  if (
    flowName !== undefined &&
    others.some(({ value }) => value.uri !== uri && value.flowDefinition?.flowName === flowName)
  )
    throw fault(ErrorReason.FLOW_ALREADY_EXISTS, { flow_name: flowName });
  if (isNew && others.length >= countMax) throw fault(ErrorReason.TOO_MANY_INTEGRATIONS, { limit: String(countMax) });
};

const integrationAnswer = (domainName: string, record: IntegrationRecord) => ({
  domainName,
  uri: record.uri,
  ...(record.objectTypeName === "" ? {} : { objectTypeName: record.objectTypeName }),
  objectTypeNames: record.objectTypeNames,
  ...(record.roleArn === "" ? {} : { roleArn: record.roleArn }),
  eventTriggerNames: record.eventTriggerNames,
  ...(record.scope === "" ? {} : { scope: record.scope }),
  createdAt: record.createdTime,
  lastUpdatedAt: record.updatedTime,
  tags: record.tags,
});
