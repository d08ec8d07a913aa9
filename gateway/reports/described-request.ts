import type { ServiceApi } from "../../services/kit/contract/contract.ts";
import type { DescribedRequest } from "../../services/kit/identity/user-request.ts";
import type { Gateway } from "../gateway.ts";
import type { HttpExchange } from "../pipeline/exchange.ts";
import { requestUrl } from "../pipeline/exchange.ts";
import { withoutSignatures } from "./hidden-secrets.ts";

/** Bytes of the headers that are described; further ones are left out. */
const headersBytesMax = 6 * 1024;
const urlLengthMax = 4 * 1024;

/** The names of access points, which may have a function that is called with the request. */
const accessPoint = /^\/(?:arn(?::|%3[Aa])|[^/]*--ol-s3(?:\/|$)|[a-z0-9-]+-\d{12}(?:[./]|$))/;

/** Whether the service may pass the request on to a function: a read by the name of an access point. */
export const isDescribed = (
  { hasVirtualHosts }: Pick<ServiceApi, "hasVirtualHosts">,
  path: string,
  method: string,
): boolean => hasVirtualHosts && method === "GET" && accessPoint.test(path);

/** Headers with what a caller proves to be itself by, or with its keys. */
const secret = /^(?:authorization|cookie|proxy-authorization)$|(?:security-token|customer-key)$/;

/** The request of an exchange, without signatures, tokens and keys. */
export const describeRequest = (
  { publicUrl }: Pick<Gateway, "publicUrl">,
  exchange: HttpExchange,
): DescribedRequest => {
  const { request, rawQuery } = exchange;
  const headers: Record<string, string> = {};
  let bytes = 0;
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const [name = "", value = ""] = request.rawHeaders.slice(index, index + 2);
    bytes += name.length + value.length;
    if (bytes <= headersBytesMax && !secret.test(name.toLowerCase())) headers[name] = value;
  }
  const url = `${requestUrl(exchange)}${rawQuery === "" ? "" : `?${rawQuery}`}`;
  return { base: publicUrl(), url: withoutSignatures(url).slice(0, urlLengthMax), headers };
};
