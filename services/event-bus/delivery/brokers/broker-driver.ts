import type { Socket } from "node:net";
import { connect } from "node:net";
import type { PeerCertificate } from "node:tls";
import { checkServerIdentity } from "node:tls";

import { readNamedFile } from "../../../kit/config/text-file.ts";
import type { Broker, BrokerHost, BrokerPlace } from "../../domain/broker.ts";
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

/** The broker answers no request of a connection any more. */
export const unanswered = retry("TIMEOUT", "The broker did not answer in time.");

/** The TLS options of a broker. */
interface BrokerTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name that the broker's certificate must have. Unset: that of its host. */
  readonly servername?: string;
  readonly checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined;
}

/** A file that a broker's setting names cannot be read. */
class TlsFileError extends Error {
  override readonly name = "TlsFileError";
}

/** The text of a file that a broker's setting names. */
const readPem = (file: string, what: string): string => {
  try {
    return readNamedFile(file);
  } catch (error) {
    throw new TlsFileError(`The file of the ${what} cannot be read.`, { cause: error });
  }
};

/**
 * The TLS options of a broker; undefined: its connections are not encrypted. Fails if a file is missing. Files are read
 * for each connection, so a renewed one is used by the next.
 */
export const tlsOf = ({
  isEncrypted,
  authority,
  certificate,
  servername,
}: Pick<Broker, "isEncrypted" | "authority" | "certificate" | "servername">): BrokerTls | undefined => {
  if (!isEncrypted) return undefined;
  // Some clients put the host in the place of the name that is given, so the name is checked here as well.
  const named = servername && {
    servername,
    checkServerIdentity: (_host: string, shown: PeerCertificate) => checkServerIdentity(servername, shown),
  };
  const ca = authority && readPem(authority, "authorities that certify the broker");
  const own = certificate && readPem(certificate, "certificate for the broker");
  return { ...(ca && { ca }), ...(own && { cert: own, key: own }), ...named };
};

/**
 * The option by which a client encrypts a connection that is already under way: only one that is not encrypted is seen
 * where received bytes are counted.
 */
export const rawSocket = (tls: BrokerTls | undefined, { host, port }: BrokerHost): { readonly socket?: Socket } => {
  if (tls === undefined) return {};
  const socket = connect({ host, port });
  // The client is told by the encrypted connection.
  socket.on("error", () => {});
  return { socket };
};

/** What Node.js says of a certificate of a broker, of one that is shown to it, and of a file that is not one. */
const certificateCodes = [
  {
    codes:
      /^(?:(?:CERT|CRL)_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/,
    message: "The certificate of the broker is not accepted",
  },
  {
    codes: /^ERR_SSL_.*_ALERT_(?:.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/,
    message: "The broker does not accept the installation's certificate",
  },
  { codes: /^ERR_(?:OSSL|CRYPTO)_/, message: "The certificate for the broker or its key cannot be used" },
];

/** Why an encrypted connection was not made, as far as a certificate is the reason. */
export const certificateRefusal = (error: unknown): BrokerRefusal | undefined => {
  if (error instanceof TlsFileError) return retry("CONNECTION_FAILURE", error.message);
  for (const code of codesOf(error))
    for (const { codes, message } of certificateCodes)
      if (codes.test(code)) return retry("CONNECTION_FAILURE", `${message}: ${code}.`);
  return undefined;
};

/** The codes of an error, of those that it has gathered, and of their causes. */
export const codesOf = (error: unknown): string[] => {
  if (!(error instanceof Error)) return [];
  const { code, cause } = error as NodeJS.ErrnoException;
  const inner = [...(error instanceof AggregateError ? (error.errors as unknown[]) : []), cause];
  return [...(code === undefined ? [] : [code]), ...inner.flatMap(codesOf)];
};

/** A host that fails after this part of its time has not answered; each client says so in words of its own. */
export const lateShare = 0.9;

/**
 * Connects to the first host of a broker that can be reached, for protocols that know one only; each may take
 * `limitMs`. Throws what the last host answered; a broker that refuses the credentials or has another certificate is
 * not left for the next.
 */
export const firstOf = async <T>(
  { hosts }: Pick<Broker, "hosts">,
  limitMs: number,
  open: (host: BrokerHost) => Promise<T>,
): Promise<T> => {
  let lastError: unknown = new Error("a broker has a host");
  for (const host of hosts) {
    const beginMs = performance.now();
    try {
      return await open(host);
    } catch (error) {
      lastError = error;
      if (!isUnreachable(error) && performance.now() - beginMs < lateShare * limitMs) break;
    }
  }
  throw lastError;
};

/** Whether a host did not answer, so that another one may. */
export const isUnreachable = (error: unknown): boolean => codesOf(error).some((code) => unreachableCodes.has(code));

const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
]);
