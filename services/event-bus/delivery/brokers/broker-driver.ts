import { readFile } from "node:fs/promises";

import type { Broker, BrokerPlace } from "../../domain/broker.ts";
import type { AttemptOutcome } from "../connector.ts";

/** One message for a broker. */
export interface BrokerMessage {
  readonly place: BrokerPlace;
  /** The same in all attempts of a delivery and in no other delivery, so that a broker may drop repetitions. */
  readonly id: string;
  /** Messages with the same key stay in order where a broker has partitions. */
  readonly key: string;
  readonly body: string | Buffer;
  readonly contentType: string;
  /** The attributes of a CloudEvent whose data the body is; empty for all other messages. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

/** An open connection, or a pool of them. */
export interface BrokerConnection {
  /** Resolves when the broker has stored the message; otherwise throws an error that the driver can classify. */
  publish(message: BrokerMessage): Promise<void>;
  /** Resolves, and never rejects, when no more can be published, so that the next message needs a new connection. */
  readonly ended: Promise<unknown>;
  /** Ends the connection; what is being published fails. */
  close(): Promise<void>;
}

export type BrokerRefusal = Extract<AttemptOutcome, { readonly kind: "retry" | "failed" }>;

/** How brokers of one kind are spoken to, by the client of a package. */
export interface BrokerDriver {
  /** Connects once; `limitMs` bounds this and each later exchange. */
  open(broker: Broker, limitMs: number): Promise<BrokerConnection>;
  /** What an error of the client means; undefined: the broker cannot be reached. */
  refusalOf(error: unknown): BrokerRefusal | undefined;
}

export const retry = (code: string, message: string): BrokerRefusal => ({ kind: "retry", code, message });
export const failed = (code: string, message: string): BrokerRefusal => ({ kind: "failed", code, message });

/** The credentials of the installation are refused; its operator may correct them while deliveries are retried. */
export const credentialsRefused = retry("NO_PERMISSIONS", "The broker refuses the installation's credentials.");

/** The TLS options of a broker; undefined: its connections are not encrypted. */
export const tlsOf = async ({
  isEncrypted,
  authority,
}: Pick<Broker, "isEncrypted" | "authority">): Promise<{ readonly ca?: string } | undefined> => {
  if (!isEncrypted) return undefined;
  return authority === undefined ? {} : { ca: await readFile(authority, "utf8") };
};

/** The first host of a broker whose protocol knows one only. */
export const firstHost = ({ hosts: [first] }: Pick<Broker, "hosts">) => {
  if (first === undefined) throw new Error("a broker has a host");
  return first;
};
