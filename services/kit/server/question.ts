import type { IncomingHttpHeaders } from "node:http";

/**
 * The header of a call that only asks whether its caller could be allowed it: the request lacks the document that
 * is still to be read. The guard decides, and no handler runs.
 */
const questionHeader = "x-quartet-question";

/** The headers that make a call a question. */
export const questionHeaders: Readonly<Record<string, string>> = { [questionHeader]: "1" };

export const isQuestion = (headers: IncomingHttpHeaders): boolean => headers[questionHeader] !== undefined;
