import * as z from "zod";

import { parseJson } from "../../kit/json/parse-json.ts";
import type { LoggedRequest } from "../domain/access-log-line.ts";

/** A request may be in two logs: a copy is in that of its source, too. */
const shape = z.array(
  z.object({
    bucketId: z.string().min(1),
    bucket: z.string().min(1),
    owner: z.string(),
    requester: z.string().optional(),
    operation: z.string(),
    key: z.string().optional(),
    versionId: z.string().optional(),
    sizeBytes: z.number().optional(),
    accessPoint: z.string().optional(),
  }),
);

/** What the gateway repeats in its report of a request, as the text of a header. */
export const encodeSubject = (logged: readonly LoggedRequest[]): string =>
  Buffer.from(JSON.stringify(logged)).toString("base64url");

/** The requests of a subject; none if it is no text of `encodeSubject`. */
export const decodeSubject = (subject: string): readonly LoggedRequest[] => {
  try {
    return shape.parse(parseJson(Buffer.from(subject, "base64url").toString()));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return [];
    throw error;
  }
};
