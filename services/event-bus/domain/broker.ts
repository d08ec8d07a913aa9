import { parseArn } from "../../kit/arn/arn.ts";
import { parseHostsUrl } from "../../kit/network/hosts-url.ts";

/** The kinds of brokers, each the scheme of its URL; a webhook has the schemes of HTTP. */
export type BrokerKind = "nats" | "amqp" | "redis" | "postgresql" | "kafka" | "webhook";

/** What the setting `brokers` says of one broker. */
export interface BrokerSetting {
  readonly url: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly secret?: string | undefined;
  readonly tls?: "on" | "off" | undefined;
  readonly authority?: string | undefined;
  readonly certificate?: string | undefined;
  readonly servername?: string | undefined;
  readonly mechanism?: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | undefined;
  readonly streamEntriesMax?: number | undefined;
}

/** A broker that an installation declares for an account. */
export interface Broker extends Omit<BrokerSetting, "tls"> {
  readonly account: string;
  readonly name: string;
  readonly kind: BrokerKind;
  /** At least one. Empty for a webhook. */
  readonly hosts: readonly BrokerHost[];
  /** The path of the URL without its first slash, decoded: the virtual host or the database. */
  readonly path: string;
  readonly isEncrypted: boolean;
}

export interface BrokerHost {
  readonly host: string;
  readonly port: number;
}

const defaultPorts: Readonly<Record<Exclude<BrokerKind, "webhook">, number>> = {
  nats: 4222,
  amqp: 5672,
  redis: 6379,
  postgresql: 5432,
  kafka: 9092,
};

/** The broker that a setting declares under `<account>/<name>`. */
export const brokerOf = (declared: string, { tls, ...setting }: BrokerSetting): Broker => {
  const { scheme = "", hosts = [], path = "" } = parseHostsUrl(setting.url) ?? {};
  const kind = isBrokerScheme(scheme) ? scheme : "webhook";
  return {
    ...setting,
    account: declared.slice(0, 12),
    name: declared.slice(13),
    kind,
    hosts: kind === "webhook" ? [] : hosts.map(({ host, port = defaultPorts[kind] }) => ({ host, port })),
    path,
    isEncrypted:
      tls === "on" || [setting.authority, setting.certificate, setting.servername].some((each) => each !== undefined),
  };
};

const isBrokerScheme = (scheme: string): scheme is keyof typeof defaultPorts => Object.hasOwn(defaultPorts, scheme);

/** The names of places of one sort. */
interface PlaceShape {
  readonly kind: BrokerKind;
  readonly name: RegExp;
  /** Whether the protocol can carry a name of this shape. Unset: it can. */
  readonly fits?: (name: string) => boolean;
}

/** Whether a text is a short one of AMQP, whose length in bytes is one byte. */
const isShortText = (text: string): boolean => Buffer.byteLength(text) <= 255;

/** What a message is published to, with the kinds of brokers that have it and the shape of its name. */
const places = {
  subject: { kind: "nats", name: /^[^\s.*>]+(?:\.[^\s.*>]+)*$/ },
  queue: { kind: "amqp", name: /^.{1,255}$/, fits: isShortText },
  exchange: {
    kind: "amqp",
    name: /^[^/]{1,255}\/.{0,255}$/,
    fits: (name) => name.split(/\/(.*)/s, 2).every(isShortText),
  },
  stream: { kind: "redis", name: /^.{1,512}$/ },
  channel: { kind: "postgresql", name: /^.{1,63}$/ },
  table: { kind: "postgresql", name: /^[^.]{1,63}(?:\.[^.]{1,63})?$/ },
  topic: { kind: "kafka", name: /^[A-Za-z0-9._-]{1,249}$/ },
} as const satisfies Readonly<Record<string, PlaceShape>>;

type PlaceSort = keyof typeof places;

/** A target at a broker. */
export interface BrokerTarget {
  readonly account: string;
  readonly broker: string;
  /** Undefined: a webhook, which has one address. */
  readonly place: BrokerPlace | undefined;
}

/** A subject, queue, exchange with a routing key after its slash, stream, channel, table or topic. */
export interface BrokerPlace {
  readonly sort: PlaceSort;
  readonly name: string;
}

/** The beginning of the resource part of brokers' ARNs. */
export const brokerPrefix = "broker/";

/**
 * Reads the ARN of a target at a broker: `broker/<name>` for a webhook, `broker/<name>/<sort>/<name of the place>` for
 * all others. Undefined if the resource is not of this form.
 */
export const parseBrokerTarget = (targetArn: string): BrokerTarget | undefined => {
  const arn = parseArn(targetArn);
  if (arn?.resource.startsWith(brokerPrefix) !== true) return undefined;
  const [, broker, sort, name = ""] = /^broker\/([A-Za-z0-9_.-]{1,64})(?:\/([a-z]+)\/(.+))?$/s.exec(arn.resource) ?? [];
  if (broker === undefined) return undefined;
  if (sort === undefined) return { account: arn.account, broker, place: undefined };
  if (!isSort(sort) || !isNameOf(places[sort], name)) return undefined;
  return { account: arn.account, broker, place: { sort, name } };
};

/** Whether what an ARN names at a broker is sent headers with each message. */
export const hasHeaders = (targetArn: string): boolean => {
  const target = parseBrokerTarget(targetArn);
  if (target === undefined) return false;
  return target.place === undefined || ["nats", "amqp", "kafka"].includes(places[target.place.sort].kind);
};

const isNameOf = ({ name, fits = () => true }: PlaceShape, text: string): boolean => name.test(text) && fits(text);

const isSort = (text: string): text is PlaceSort => Object.hasOwn(places, text);

/** Whether a broker has places of a target's sort. */
export const hasPlace = ({ kind }: Pick<Broker, "kind">, place: BrokerPlace | undefined): boolean =>
  kind === (place === undefined ? "webhook" : places[place.sort].kind);
