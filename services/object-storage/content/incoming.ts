import type { RequestHeaders } from "../../kit/server/request-headers.ts";
import { openUpload } from "../../kit/server/upload.ts";
import { contentEndHeader } from "../../kit/wire/content-end.ts";
import type { ChecksumMembers } from "../domain/checksum-algorithm.ts";
import { checksumMembers } from "../domain/checksum-algorithm.ts";
import type { IncomingContent } from "./content-store.ts";

/** A request of a streaming method whose content comes in `body`. */
type UploadRequest = ChecksumMembers & { readonly body: Uint8Array };

/** The head of an upload and the content that follows it. */
export interface IncomingUpload<Request> {
  readonly head: Request;
  readonly content: IncomingContent;
}

const members = Object.values(checksumMembers);

/**
 * Separates an upload's head from its content. A checksum that was not known before the content may come in a later
 * message, as HTTP trailers do, unless the call's headers say that none does; those of the first message belong to the
 * head only.
 */
export const openIncoming = async <Request extends UploadRequest>(
  requests: AsyncIterable<Request>,
  requestHeader: RequestHeaders,
): Promise<IncomingUpload<Request>> => {
  const trailer: Partial<Record<(typeof members)[number], string>> = {};
  const { head, body } = await openUpload<UploadRequest>(requests, "body", (request) => {
    for (const member of members) if (request[member] !== undefined) trailer[member] = request[member];
  });
  return {
    head: head as Request,
    content: { body, hasNoTrailer: requestHeader.has(contentEndHeader), trailer: () => trailer },
  };
};
