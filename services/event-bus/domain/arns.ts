import { arn, parseArn } from "../../kit/arn/arn.ts";

/** The parts that all ARNs of an installation share. */
export interface ArnScope {
  /** `aws` or `svc`. */
  readonly partition: string;
  /** The service part of the ARNs of this service's own resources. */
  readonly service: string;
  readonly region: string;
}

/** The name of the bus that every account has. */
export const defaultBusName = "default";

/** A bus by its account and its name, which is unique in the account. */
export interface BusReference {
  readonly account: string;
  readonly name: string;
}

const ownArn = (scope: ArnScope, account: string, resource: string): string =>
  arn({ partition: scope.partition, service: scope.service, region: scope.region, account, resource });

/** The ARN of a bus. */
export const busArn = (scope: ArnScope, bus: BusReference): string =>
  ownArn(scope, bus.account, `event-bus/${bus.name}`);

/** The ARN of a rule. The ARN of a rule of the default bus does not name the bus. */
export const ruleArn = (scope: ArnScope, bus: BusReference, rule: string): string =>
  ownArn(scope, bus.account, bus.name === defaultBusName ? `rule/${rule}` : `rule/${bus.name}/${rule}`);

/** The ARN of a connection; the id distinguishes it from earlier and later connections of the name. */
export const connectionArn = (scope: ArnScope, account: string, name: string, id: string): string =>
  ownArn(scope, account, `connection/${name}/${id}`);

/** The ARN of an API destination; the id distinguishes it from earlier and later ones of the name. */
export const apiDestinationArn = (scope: ArnScope, account: string, name: string, id: string): string =>
  ownArn(scope, account, `api-destination/${name}/${id}`);

/** The ARN of an archive. */
export const archiveArn = (scope: ArnScope, account: string, archive: string): string =>
  ownArn(scope, account, `archive/${archive}`);

/** The ARN of a replay. */
export const replayArn = (scope: ArnScope, account: string, replay: string): string =>
  ownArn(scope, account, `replay/${replay}`);

/** The ARN of a global endpoint. */
export const endpointArn = (scope: ArnScope, account: string, name: string): string =>
  ownArn(scope, account, `endpoint/${name}`);

/** The ARN of a partner event source, which belongs to no account. */
export const eventSourceArn = (scope: ArnScope, name: string): string => ownArn(scope, "", `event-source/${name}`);

/** Parses the ARN of an archive. Undefined if it is not one. */
export const parseArchiveArn = (text: string): { readonly account: string; readonly name: string } | undefined => {
  const parsed = parseArn(text);
  const name = /^archive\/([^/]+)$/.exec(parsed?.resource ?? "")?.[1];
  return parsed === undefined || name === undefined ? undefined : { account: parsed.account, name };
};

const busPrefix = "event-bus/";

/** Parses the ARN of a bus. Undefined if it is not one. */
export const parseBusArn = (text: string): BusReference | undefined => {
  const parsed = parseArn(text);
  if (parsed === undefined || !parsed.resource.startsWith(busPrefix)) return undefined;
  return { account: parsed.account, name: parsed.resource.slice(busPrefix.length) };
};

/** The ARN that callers see as the place of a connection's secrets. */
export const secretArn = (scope: ArnScope, account: string, connection: string, id: string): string =>
  arn({
    partition: scope.partition,
    service: "secretsmanager",
    region: scope.region,
    account,
    resource: `secret:events!connection/${connection}/${id}`,
  });

/** A resource whose ARN holds a name and an id. */
export interface IdentifiedResource {
  readonly account: string;
  readonly name: string;
  readonly id: string;
}

const identifiedShape = /^(connection|api-destination)\/([^/]+)\/([^/]+)$/;

/** Parses the ARN of a connection or an API destination. Undefined if it is not one. */
export const parseIdentifiedArn = (
  text: string,
  kind: "connection" | "api-destination",
): IdentifiedResource | undefined => {
  const parsed = parseArn(text);
  const [, type, name, id] = identifiedShape.exec(parsed?.resource ?? "") ?? [];
  if (parsed === undefined || type !== kind || name === undefined || id === undefined) return undefined;
  return { account: parsed.account, name, id };
};

/**
 * Parses the name or the ARN of a bus. A name is that of a bus of the caller's account; no text, the default bus. No
 * bus has the name that is returned for the ARN of another region.
 */
export const parseBusReference = (
  text: string | undefined,
  callerAccount: string,
  { region }: Pick<ArnScope, "region">,
): BusReference => {
  if (text === undefined || text === "") return { account: callerAccount, name: defaultBusName };
  const bus = parseBusArn(text) ?? { account: callerAccount, name: text };
  return isOfRegion(text, region) ? bus : { ...bus, name: text };
};

/** Whether a text is the ARN of a resource of the region, or no ARN. */
const isOfRegion = (text: string, region: string): boolean => (parseArn(text)?.region ?? region) === region;

/** Parses the ARN of a bus, or of a rule with its bus. Undefined if it is neither. */
export const parseTaggedArn = (
  text: string,
): { readonly bus: BusReference; readonly rule: string | undefined } | undefined => {
  const parsed = parseArn(text);
  if (parsed === undefined) return undefined;
  const { account, resource } = parsed;
  if (resource.startsWith(busPrefix))
    return { bus: { account, name: resource.slice(busPrefix.length) }, rule: undefined };
  const [, bus = defaultBusName, rule] = /^rule\/(?:(.+)\/)?([^/]+)$/.exec(resource) ?? [];
  return rule === undefined ? undefined : { bus: { account, name: bus }, rule };
};
