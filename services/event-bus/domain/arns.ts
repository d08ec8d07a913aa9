import { arn, parseArn } from "../../kit/arn/arn.ts";

/** The words that all resource names of an installation begin with. */
export interface Place {
  /** `aws` or `svc`. */
  readonly partition: string;
  /** The service part of this service's own resource names. */
  readonly service: string;
  readonly region: string;
}

export const defaultBusName = "default";

const own = (place: Place, account: string, resource: string): string =>
  arn({ partition: place.partition, service: place.service, region: place.region, account, resource });

export const busArn = (place: Place, account: string, bus: string): string => own(place, account, `event-bus/${bus}`);

/** Rules of the default bus are named without their bus. */
export const ruleArn = (place: Place, account: string, bus: string, rule: string): string =>
  own(place, account, bus === defaultBusName ? `rule/${rule}` : `rule/${bus}/${rule}`);

export const connectionArn = (place: Place, account: string, name: string, id: string): string =>
  own(place, account, `connection/${name}/${id}`);

export const apiDestinationArn = (place: Place, account: string, name: string, id: string): string =>
  own(place, account, `api-destination/${name}/${id}`);

export const archiveArn = (place: Place, account: string, archive: string): string =>
  own(place, account, `archive/${archive}`);

export const replayArn = (place: Place, account: string, replay: string): string =>
  own(place, account, `replay/${replay}`);

/** Reads the ARN of an archive. Undefined when it is not one. */
export const parseArchiveArn = (text: string): { readonly account: string; readonly name: string } | undefined => {
  const parsed = parseArn(text);
  const name = /^archive\/([^/]+)$/.exec(parsed?.resource ?? "")?.[1];
  return parsed === undefined || name === undefined ? undefined : { account: parsed.account, name };
};

/** Reads the ARN of a bus. Undefined when it is not one. */
export const parseBusArn = (text: string): BusReference | undefined => {
  const parsed = parseArn(text);
  if (parsed === undefined || !parsed.resource.startsWith(busPrefix)) return undefined;
  return { account: parsed.account, name: parsed.resource.slice(busPrefix.length) };
};

/** The account itself, as policies name it. */
export const accountRoot = (place: Place, account: string): string =>
  arn({ partition: place.partition, service: "iam", region: "", account, resource: "root" });

/** The name under which a connection's secrets are stored. */
export const secretArn = (place: Place, account: string, connection: string, id: string): string =>
  arn({
    partition: place.partition,
    service: "secretsmanager",
    region: place.region,
    account,
    resource: `secret:events!connection/${connection}/${id}`,
  });

/** A resource that has a name and an id. */
export interface NamedResource {
  readonly account: string;
  readonly name: string;
  readonly id: string;
}

const namedShape = /^(connection|api-destination)\/([^/]+)\/([^/]+)$/;

/** Reads the ARN of a connection or an API destination. Undefined when it is not one. */
export const parseNamedArn = (text: string, kind: "connection" | "api-destination"): NamedResource | undefined => {
  const parsed = parseArn(text);
  const [, word, name, id] = namedShape.exec(parsed?.resource ?? "") ?? [];
  if (parsed === undefined || word !== kind || name === undefined || id === undefined) return undefined;
  return { account: parsed.account, name, id };
};

/** Where a request's bus is: its account and name. */
export interface BusReference {
  readonly account: string;
  readonly name: string;
}

const busPrefix = "event-bus/";

/** Reads the name or the ARN of a bus as the caller of an account means it; none is the default bus. */
export const parseBusReference = (text: string | undefined, callerAccount: string): BusReference => {
  if (text === undefined || text === "") return { account: callerAccount, name: defaultBusName };
  const parsed = parseArn(text);
  if (parsed === undefined || !parsed.resource.startsWith(busPrefix)) return { account: callerAccount, name: text };
  return { account: parsed.account, name: parsed.resource.slice(busPrefix.length) };
};

/** Reads the ARN of a bus, or of a rule with its bus. Undefined: it is neither. */
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
