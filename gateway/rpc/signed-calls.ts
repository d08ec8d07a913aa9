import { IncomingMessage } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";

import { requestFactHeaders } from "../../services/kit/identity/request-facts.ts";
import type { ApiBinding } from "../api-binding.ts";
import type { Dialect, DialectSpelling } from "../dialects/dialect.ts";
import type { Gateway } from "../gateway.ts";
import { openIncomingBody } from "../http/incoming-body.ts";
import { parseQuery } from "../http/query.ts";
import { noteUse, signatureRules, withOrigin } from "../pipeline/authenticate.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { asymmetricAlgorithm } from "../signature/brand.ts";
import { payloadHashName, readPayloadClaim } from "../signature/payload.ts";
import type { VerifiedRequest } from "../signature/verify.ts";
import { verifyHead } from "../signature/verify.ts";

/** The parts of a gateway that signatures are verified with. */
export type SigningGateway = Pick<
  Gateway,
  | "bindings"
  | "dialects"
  | "accessKeys"
  | "clock"
  | "region"
  | "versionTwo"
  | "minter"
  | "limits"
  | "bodiesBudget"
  | "readingTurns"
  | "noteKeyUse"
  | "trustedProxies"
>;

/** Verifies RPCs that are signed in their `authorization` header, like requests of the HTTP APIs. */
export class SignedCalls {
  readonly #gateway: SigningGateway;

  constructor(gateway: SigningGateway) {
    this.#gateway = gateway;
  }

  /** Whether a request has a signature in its header; one in its query is not taken. */
  isSigned({ headers: { authorization = "" } }: IncomingMessage): boolean {
    return this.#gateway.dialects.all.some(({ dialect: { signature } }) =>
      [signature.algorithm, asymmetricAlgorithm(signature)].some((name) => authorization.startsWith(`${name} `)),
    );
  }

  /**
   * The same call with a token of its signer. A body is read whole and compared with the hash that is signed; one that
   * is declared unsigned stays to be read as it arrives, as streams need it. Rejects with the gateway's refusals:
   * first those of the head, before anything of the body is read.
   */
  async admit(request: IncomingMessage, response: ServerResponse, api: string): Promise<IncomingMessage> {
    const { dialects, bindings, limits, bodiesBudget, readingTurns, trustedProxies } = this.#gateway;
    const { method = "", url = "", headers, rawHeaders } = request;
    const [rawPath = "", rawQuery = ""] = url.split("?", 2);
    const query = parseQuery(rawQuery);
    const spelling = dialects.detect(headers, query);
    const binding = bindings.get(api);
    if (binding === undefined) throw new Error(`the gateway has no API ${api}`);
    const verified = verifyHead({
      method,
      rawPath,
      query,
      rawHeaders,
      ...signatureRules(this.#gateway, spelling.dialect, api),
      doubleEncodePath: true,
      verifiesWholeBody: true,
    });
    const body = openIncomingBody(request, response, false, limits, bodiesBudget, readingTurns);
    const bytes = bodyKind(headers, spelling.dialect) === "unsigned" ? undefined : await body.readWhole();
    const signed = verified.withBody(bytes);
    const forwarded = trustedProxies.readFacts(headers, request.socket);
    const caller = withOrigin(signed.caller, { request, forwarded }, signed.signature);
    noteUse(this.#gateway, caller, { binding, spelling });
    const admitted = bytes === undefined ? request : replayed(request, bytes);
    const token = await this.#gateway.minter.mint(caller, api);
    admitted.headers = {
      ...signedOnly(headers, signed, binding, spelling),
      ...requestFactHeaders(caller),
      authorization: `Bearer ${token}`,
    };
    return admitted;
  }
}

/** Whether the body is declared unsigned. Chunks with signatures of their own are for uploads over HTTP only. */
const bodyKind = (headers: IncomingHttpHeaders, { signature }: Dialect): "unsigned" | "signed" => {
  const name = signature.headerPrefix + payloadHashName;
  const value = headers[name] as string | undefined;
  const { kind } = readPayloadClaim(value, signature);
  if (kind === "chunked")
    throw refusal(ErrorReason.INVALID_PAYLOAD_HASH, { argument_name: name, argument_value: value ?? "" });
  return kind === "unsigned" ? "unsigned" : "signed";
};

/** The headers of a call, of those that change its meaning only the signed ones, by their documented names. */
const signedOnly = (
  headers: IncomingHttpHeaders,
  { signedHeaders }: VerifiedRequest,
  { api }: ApiBinding,
  spelling: DialectSpelling,
): IncomingHttpHeaders => {
  const kept = { ...headers };
  for (const documented of api.forwardedHeaders) {
    const name = [spelling.header(documented), documented].find((each) => signedHeaders.includes(each));
    const value = name === undefined ? undefined : headers[name];
    if (value === undefined) delete kept[documented];
    else kept[documented] = value;
  }
  return kept;
};

/** A request whose body was read already, to be read again. */
const replayed = (request: IncomingMessage, body: Uint8Array): IncomingMessage => {
  const again = new IncomingMessage(request.socket);
  again.httpVersion = request.httpVersion;
  again.httpVersionMajor = request.httpVersionMajor;
  again.httpVersionMinor = request.httpVersionMinor;
  again.method = request.method;
  again.url = request.url;
  again.rawHeaders = request.rawHeaders;
  again.push(body);
  again.push(null);
  again.complete = true;
  return again;
};
