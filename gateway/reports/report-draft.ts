import { ConnectError } from "@connectrpc/connect";

import { mayHaveHeader } from "../../services/kit/client/answers.ts";
import { reportHeaders } from "../../services/kit/report/report-headers.ts";

/** What is gathered of a request that its service asked a report of. */
export interface ReportDraft {
  readonly subject: string;
  /** On the monotonic clock: when the service answered. */
  readonly answeredMs: number;
  /** Of the answer's body. */
  bytesSent: number;
  /** The name of the error in the answer. Empty: it is none. */
  errorCode: string;
}

/** The parts of an exchange in which its report is gathered. */
export interface ReportedExchange {
  /** Undefined: no report was asked for. */
  report: ReportDraft | undefined;
}

/** Sets the header of calls to services that may ask for reports. */
export const announceReports = (headers: Record<string, string>): void => {
  headers[reportHeaders.announced] = "1";
};

/** Begins the report of a request if the headers of its answer ask for one. */
const noteSubject = (exchange: ReportedExchange, headers: Headers): void => {
  const subject = headers.get(reportHeaders.subject);
  if (subject !== null) exchange.report = { subject, answeredMs: performance.now(), bytesSent: 0, errorCode: "" };
};

/** The same for an answer. Its headers are created only if they ask, because that costs as much as a small message. */
export const noteSubjectOf = (exchange: ReportedExchange, answer: { readonly header: Headers }): void => {
  if (mayHaveHeader(answer, reportHeaders.subject)) noteSubject(exchange, answer.header);
};

/** The same for the headers of a refusal. */
export const noteRefusedSubject = (exchange: ReportedExchange, thrown: unknown): void => {
  if (thrown instanceof ConnectError) noteSubject(exchange, thrown.metadata);
};

/** The pieces of an answer's body, counted for its report. */
export const countedPieces = (
  { report }: ReportedExchange,
  pieces: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> => (report === undefined ? pieces : counted(report, pieces));

async function* counted(report: ReportDraft, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    // Its memory may be used for other bytes when the next piece is asked for.
    const { byteLength } = piece;
    yield piece;
    report.bytesSent += byteLength;
  }
}
