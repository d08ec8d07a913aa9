/**
 * The headers by which a service asks for the report of a request: the gateway announces in the call that it can
 * report, and the service answers with what the report is to repeat. A call that is answered without the second header
 * is not reported.
 */
export const reportHeaders = { announced: "x-reports-requests", subject: "x-report-subject" } as const;
