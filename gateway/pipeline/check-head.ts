import type { IncomingMessage } from "node:http";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { hasOtherCoding, isHost } from "../../services/kit/network/request-form.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { targetOrigin } from "./exchange.ts";
import type { Identity } from "./stages.ts";

/**
 * Refuses the head of a request that others could read in another way, or whose body the platform does not decode.
 * Throws INVALID_HOST and HEADER_NOT_OFFERED.
 */
export const checkHead = (request: IncomingMessage, { binding }: Identity): void => {
  if (!hasOneHost(request)) throw refusal(ErrorReason.INVALID_HOST);
  // The bytes of an object would be stored as they are. Documents in JSON fail by themselves.
  if (hasOtherCoding(request.headers["transfer-encoding"]) && binding.api.protocol === Protocol.REST_XML)
    throw refusal(ErrorReason.HEADER_NOT_OFFERED);
};

/**
 * Whether a request names one host (RFC 9112 section 3.2), which may be a bucket's. Of several headers the values are a
 * list. A request without one is refused by the check of its signature.
 */
const hasOneHost = ({ url = "", headers: { host = "" } }: IncomingMessage): boolean => {
  const inTarget = targetOrigin.exec(url)?.[1] ?? host;
  return isHost(host) && inTarget.toLowerCase() === host.toLowerCase();
};
