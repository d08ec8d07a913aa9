import type { RequestReport } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";

/** What this service knows of a request that is logged. */
export interface LoggedRequest {
  readonly bucketId: string;
  readonly bucket: string;
  /** Canonical id of the bucket's owner. */
  readonly owner: string;
  /** Canonical id of an account, the ARN of a user or a session. Undefined: nobody signed. */
  readonly requester?: string | undefined;
  /** For example `REST.GET.OBJECT`. */
  readonly operation: string;
  readonly key?: string | undefined;
  readonly versionId?: string | undefined;
  /** Bytes of the whole object. */
  readonly sizeBytes?: number | undefined;
  /** The ARN of the access point by which the bucket was reached. */
  readonly accessPoint?: string | undefined;
}

/** How a request arrived and what was answered, as far as it is known. */
export type RequestFacts = Omit<RequestReport, "$typeName" | "$unknown" | "subject">;

const nothing = "-";

/** The canonical id of the bucket's owner in a line: its first field. */
export const ownerOfLine = (line: string): string => line.slice(0, line.indexOf(" "));

/**
 * A line of an access log in the documented format, without its end: 26 fields, of which unknown ones are hyphens. Keys
 * are percent-encoded; in texts that clients chose, quotes, backslashes, controls and what is not ASCII are escaped as
 * `\xHH`, so that a line cannot be forged.
 */
export const accessLogLine = (logged: LoggedRequest, facts: RequestFacts): string =>
  [
    logged.owner,
    logged.bucket,
    `[${logTime(Number(facts.timeMs))}]`,
    textOf(facts.remoteAddress),
    textOf(logged.requester),
    facts.requestId,
    logged.operation,
    logged.key === undefined ? nothing : encodeURIComponent(logged.key.toWellFormed()).replaceAll("%2F", "/"),
    quoted(facts.method === "" ? "" : `${facts.method} ${facts.target} ${facts.protocol}`),
    String(facts.status),
    textOf(facts.errorCode),
    facts.bytesSent === 0n ? nothing : String(facts.bytesSent),
    logged.sizeBytes === undefined ? nothing : String(logged.sizeBytes),
    String(facts.totalMs),
    facts.turnAroundMs === 0n ? nothing : String(facts.turnAroundMs),
    quoted(facts.referer),
    quoted(facts.userAgent),
    textOf(logged.versionId),
    textOf(facts.hostId),
    signatureVersions[facts.signatureVersion] ?? nothing,
    textOf(facts.cipherSuite),
    authTypes[facts.authType] ?? nothing,
    textOf(facts.host),
    textOf(facts.tlsVersion),
    textOf(logged.accessPoint),
    // Whether an ACL was needed is not found out.
    nothing,
  ].join(" ");

const signatureVersions: Readonly<Record<string, string>> = {
  AWS: "SigV2",
  "AWS4-HMAC-SHA256": "SigV4",
  "AWS4-ECDSA-P256-SHA256": "SigV4A",
};

const authTypes: Readonly<Record<string, string>> = {
  "REST-HEADER": "AuthHeader",
  "REST-QUERY-STRING": "QueryString",
  POST: "HtmlForm",
};

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** For example `06/Feb/2019:00:00:38 +0000`. */
const logTime = (ms: number): string => {
  const time = new Date(ms).toISOString();
  return `${time.slice(8, 10)}/${months[Number(time.slice(5, 7)) - 1]}/${time.slice(0, 4)}:${time.slice(11, 19)} +0000`;
};

/** A field without spaces. */
const textOf = (text: string | undefined): string =>
  text === undefined || text === "" ? nothing : escaped(text).replaceAll(" ", "\\x20");

const quoted = (text: string): string => `"${text === "" ? nothing : escaped(text)}"`;

const escaped = (text: string): string =>
  text.replaceAll(/["\\]|[^\x20-\x7e]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
