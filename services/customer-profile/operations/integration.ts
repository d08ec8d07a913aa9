/**
 * Integrations. PutIntegration refuses, in this order: (1) reserved tag keys, (2) an incomplete integration, or one of
 * another account's contact center instance, (3) a domain that does not exist, (4) an object type that does not exist,
 * (5) a contact center instance of another domain, (6) the flow name of another integration, (7) one integration more
 * than a domain may have. GetIntegration and DeleteIntegration refuse (1) a domain, (2) an integration that does not
 * exist. The flow of a bucket begins when its integration is put, and ends when that is deleted or put again.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { IntegrationRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { IntegrationRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { PutIntegrationRequest } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { FlowDefinition } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Operation } from "../application.ts";
import { findIntegrationProblem, generatedUri, instanceAddresses, objectTypesOf } from "../domain/integration-rules.ts";
import { idBytes } from "../domain/identifier.ts";
import { objectTemplates } from "../domain/object-templates.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { getDomain } from "../store/domain.ts";
import * as stored from "../store/integration.ts";
import { getObjectType } from "../store/object-type.ts";
import { endFlow, isCarriedOut, startFlow } from "../work/flow/flow-job.ts";

/**
 * Creates or replaces an integration; an existing integration keeps its tags. Its flow begins again; one that reads
 * what has changed goes on from what it has read, if it reads and does the same.
 */
export const putIntegration: Operation<"putIntegration"> = async (request, { app, access }) => {
  refuseReservedTagKeys(request.tags);
  const problem = findIntegrationProblem(request, access.accountId);
  if (problem !== undefined) throw fault(ErrorReason.INTEGRATION_INVALID, { problem });
  const nowMs = app.clock.now();
  const generation = idBytes(app.ids.hex(32));

  return app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, access.accountId, request.domainName);
    for (const name of objectTypesOf(request))
      if (!objectTemplates.has(name)) await getObjectType(transaction, domainId, name);
    const owner = { accountId: access.accountId, domainName: request.domainName, domainId };
    const uri = request.uri ?? (await unusedUri(transaction, domainId, request, nowMs));
    await refuseInstanceOfAnother(transaction, owner, uri);
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
      createdMs: before?.createdMs ?? BigInt(nowMs),
      updatedMs: BigInt(nowMs),
      tags: before?.tags ?? request.tags,
    });
    stored.putIntegration(transaction, owner, after);
    const { flowDefinition: flow } = after;
    if (app.readsBuckets && isCarriedOut(flow))
      await startFlow(app.jobs, transaction, { owner, flow, after, before, generation, nowMs });
    else await endFlow(app.jobs, transaction, domainId, uri);
    return integrationAnswer(request.domainName, after);
  });
};

/** Returns an integration. */
export const getIntegration: Operation<"getIntegration"> = (request, { app, access }) =>
  app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, request.domainName);
    return integrationAnswer(request.domainName, await stored.getIntegration(reader, domainId, request.uri));
  });

/** Deletes an integration and ends its flow; its data stays. Repeating the call fails with INTEGRATION_NOT_FOUND. */
export const deleteIntegration: Operation<"deleteIntegration"> = async (request, { app, access }) => {
  await app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, access.accountId, request.domainName);
    await stored.getIntegration(transaction, domainId, request.uri);
    const owner = { accountId: access.accountId, domainName: request.domainName, domainId };
    stored.removeIntegration(transaction, owner, request.uri);
    await endFlow(app.jobs, transaction, domainId, request.uri);
  });

  return { message: "OK" };
};

/** Lists the integrations of a domain by address. */
export const listIntegrations: Operation<"listIntegrations"> = async (request, context) => {
  const { app, access } = context;
  const page = app.pages.open(context, request, [request.domainName]);
  const found = await app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, request.domainName);
    return stored.listIntegrations(reader, domainId, page.after, page.lookFor);
  });

  const { items, ...next } = page.cut(found, ({ key }) => key[1]);
  return { items: items.map(({ value }) => integrationAnswer(request.domainName, value)), ...next };
};

/** Lists the account's integrations with one address by domain. */
export const listAccountIntegrations: Operation<"listAccountIntegrations"> = async (request, context) => {
  const { app, access } = context;
  const { accountId } = access;
  const page = app.pages.open(context, request, [request.uri]);
  const found = await app.store.read(async (reader) => {
    const names = await stored.listDomainsWithAddress(reader, accountId, request.uri, page.after, page.lookFor);
    return Promise.all(
      names.map(async (domainName) => {
        const { domainId } = await getDomain(reader, accountId, domainName);
        return { domainName, record: await stored.getIntegration(reader, domainId, request.uri) };
      }),
    );
  });

  const { items, ...next } = page.cut(found, ({ domainName }) => domainName);
  return { items: items.map(({ domainName, record }) => integrationAnswer(domainName, record)), ...next };
};

/** An address that no integration of the domain has: another may have been put without one in the same millisecond. */
const unusedUri = async (
  reader: Reader,
  domainId: Uint8Array,
  request: PutIntegrationRequest,
  nowMs: number,
): Promise<string> => {
  let ms = nowMs;
  let uri: string;
  do uri = generatedUri(request.domainName, request, ms++);
  while ((await stored.findIntegration(reader, domainId, uri)) !== undefined);
  return uri;
};

/** A contact center instance has integrations in one domain only. */
const refuseInstanceOfAnother = async (
  reader: Reader,
  { accountId, domainName }: stored.IntegrationOwner,
  uri: string,
): Promise<void> => {
  for (const address of instanceAddresses(uri)) {
    const names = await stored.listDomainsWithAddress(reader, accountId, address, undefined, 2);
    if (names.some((name) => name !== domainName)) throw fault(ErrorReason.INSTANCE_ALREADY_ASSOCIATED, { uri });
  }
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
  createdAt: timestampFromMs(Number(record.createdMs)),
  lastUpdatedAt: timestampFromMs(Number(record.updatedMs)),
  tags: record.tags,
});
