import type { TLSSocket } from "node:tls";

import type { Caller } from "../../services/kit/identity/caller.ts";
import type { Gateway } from "../gateway.ts";
import type { HttpExchange } from "../pipeline/exchange.ts";
import { withoutInputSecret, withoutSignatures } from "./hidden-secrets.ts";
import type { ReportDraft } from "./report-draft.ts";
import type { NewReport } from "./request-reports.ts";

/** Longer texts of clients are cut. */
const textLengthMax = 8 * 1_024;

/** How far a request went that is reported. */
interface ReportedProgress {
  readonly caller: Caller | undefined;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly status: number;
}

/** The report of a request that has ended. */
export const reportOf = (
  { clock, hostId }: Pick<Gateway, "clock" | "hostId">,
  { request, requestId, rawPath, rawQuery, forwarded }: HttpExchange,
  { subject, answeredMs, bytesSent, errorCode }: ReportDraft,
  { caller, startedMs, status }: ReportedProgress,
): NewReport => {
  const { headers, socket, method = "", httpVersion } = request;
  // How a client and its proxy encrypt what they say, nobody tells.
  const tls = tlsOf(forwarded === undefined ? (socket as Partial<TLSSocket>) : {});
  const totalMs = Math.round(performance.now() - startedMs);
  return {
    subject,
    timeMs: BigInt(Math.round(clock.now() - totalMs)),
    requestId,
    hostId,
    remoteAddress: forwarded?.sourceIp ?? socket.remoteAddress ?? "",
    method,
    target: cut(withoutSignatures(`${withoutInputSecret(rawPath)}${rawQuery === "" ? "" : `?${rawQuery}`}`)),
    protocol: `HTTP/${httpVersion}`,
    status,
    errorCode,
    bytesSent: BigInt(bytesSent),
    totalMs: BigInt(totalMs),
    turnAroundMs: BigInt(Math.round(answeredMs - startedMs)),
    host: cut(headers.host ?? ""),
    referer: cut(headers.referer ?? ""),
    userAgent: cut(headers["user-agent"] ?? ""),
    signatureVersion: caller?.signatureVersion ?? "",
    authType: caller?.authType ?? "",
    ...tls,
  };
};

const cut = (text: string): string => text.slice(0, textLengthMax);

const tlsOf = (socket: Partial<TLSSocket>): Pick<NewReport, "cipherSuite" | "tlsVersion"> =>
  socket.encrypted === true
    ? { cipherSuite: socket.getCipher?.().standardName ?? "", tlsVersion: socket.getProtocol?.() ?? "" }
    : { cipherSuite: "", tlsVersion: "" };
