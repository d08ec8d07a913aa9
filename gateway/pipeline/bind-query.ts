import { create } from "@bufbuild/protobuf";

import { parseQueryTree, readQueryMembers } from "../codecs/query-reader.ts";
import { throwMisread } from "../faults/violations.ts";
import type { RequestHead } from "../http/request-head.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { Reading } from "../values/reading.ts";
import type { AuthenticatedRequest, BoundCall, Identity } from "./stages.ts";

/**
 * Binds a request of the query protocol: the parameters of its form, or of its query if it is a GET, name the operation
 * and its members. Throws UNKNOWN_OPERATION, also for another version than the API's, MALFORMED_BODY and the service's
 * refusal of invalid input.
 */
export const bindQuery = (
  head: RequestHead,
  { binding, spelling }: Identity,
  { body }: AuthenticatedRequest,
): BoundCall => {
  if (head.method !== "POST" && head.method !== "GET") throw refusal(ErrorReason.UNKNOWN_OPERATION);
  const parameters = parseQueryTree(head.method === "GET" ? head.query.raw : (body?.toString("latin1") ?? ""));
  const version = parameters.children.get("Version")?.value ?? binding.api.version;
  const method = binding.operations.get(parameters.children.get("Action")?.value ?? "");
  if (method === undefined || version !== binding.api.version) throw refusal(ErrorReason.UNKNOWN_OPERATION);

  const reading: Reading = { spelling, violations: [] };
  const message = create(method.desc.input);
  readQueryMembers(message, method.desc.input, parameters, reading);
  throwMisread(binding, reading, method, message);
  return { binding, method, message, more: undefined };
};
