import { parseJson } from "../../kit/json/parse-json.ts";
import { SendError } from "../../kit/outgoing/http-sender.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import { restCall } from "../../kit/outgoing/service-request.ts";

/** The dependencies of a `FunctionApi`. */
export interface FunctionApiSettings {
  /** Undefined: the installation calls no functions. */
  readonly endpoint: ServiceEndpoint | undefined;
  readonly client: ServiceClient;
}

/** Whether a function can be called. */
export type FunctionState = { readonly isReady: true } | { readonly isReady: false; readonly problem: string };

/** A statement of a function's resource policy that lets one gateway invoke it. */
export interface FunctionPermission {
  readonly functionArn: string;
  /** Unique among the statements of the policy. */
  readonly statementId: string;
  /** The requests of the gateway that are allowed. */
  readonly sourceArn: string;
}

/** How a change of a policy ended. A failure that is transient may be over at a later attempt. */
export type PolicyOutcome =
  | { readonly isSet: true }
  | { readonly isSet: false; readonly isTransient: boolean; readonly problem: string };

/** The service that calls of functions and of their policies are signed for. */
export const functionService = "lambda";

/** Whom the statements name: gateways, of which the source ARN selects one. */
const gatewayPrincipal = "apigateway.amazonaws.com";
const noAddress = "no address for functions is set";

/** Reads and changes functions, without calling them. Its changes may be repeated. */
export class FunctionApi {
  readonly #settings: FunctionApiSettings;

  constructor(settings: FunctionApiSettings) {
    this.#settings = settings;
  }

  /**
   * Checks whether a function can be called: it must exist and not have failed. One that is inactive because nobody
   * called it for long is provisioned by an update of its configuration that changes nothing. Rejects with SendError.
   */
  async check(functionArn: string, signal: AbortSignal): Promise<FunctionState> {
    if (this.#settings.endpoint === undefined) return { isReady: false, problem: noAddress };
    const { status, body } = await this.#send("GET", functionPath(functionNameOf(functionArn)), undefined, signal);
    if (status === 404) return { isReady: false, problem: "the function does not exist" };
    if (status !== 200) return { isReady: false, problem: `the functions' address answers ${status}` };
    const state = stateIn(body);
    if (state === "Inactive") {
      const path = `${functionPath(unqualifiedNameOf(functionArn))}/configuration`;
      const updated = await this.#send("PUT", path, {}, signal);
      if (updated.status !== 200)
        return { isReady: false, problem: `the update of the inactive function is answered ${updated.status}` };
    }
    return state === "Failed" ? { isReady: false, problem: "the function is in the state Failed" } : { isReady: true };
  }

  /** Adds a statement to the policy of a function, unless the policy has it. Rejects with the signal's reason. */
  async permit(
    { functionArn, statementId, sourceArn }: FunctionPermission,
    signal: AbortSignal,
  ): Promise<PolicyOutcome> {
    const { path, query } = policyOf(functionArn);
    return this.#change(async () => {
      const added = await this.#send(
        "POST",
        path + query,
        {
          StatementId: statementId,
          Action: "lambda:InvokeFunction",
          Principal: gatewayPrincipal,
          SourceArn: sourceArn,
        },
        signal,
      );
      if (added.status !== 409) return added.status;
      // The conflict is one with the same statement, or with another change that happens now.
      const { status, body } = await this.#send("GET", path + query, undefined, signal);
      return status === 200 && hasStatement(body, statementId) ? 201 : 429;
    });
  }

  /** Removes a statement from the policy of a function, if it is there. Rejects with the signal's reason. */
  async revoke(
    { functionArn, statementId }: Omit<FunctionPermission, "sourceArn">,
    signal: AbortSignal,
  ): Promise<PolicyOutcome> {
    const { path, query } = policyOf(functionArn);
    return this.#change(async () => {
      const { status } = await this.#send("DELETE", `${path}/${statementId}${query}`, undefined, signal);
      return status === 404 ? 204 : status;
    });
  }

  async #change(send: () => Promise<number>): Promise<PolicyOutcome> {
    if (this.#settings.endpoint === undefined) return { isSet: false, isTransient: false, problem: noAddress };
    try {
      const status = await send();
      if (status >= 200 && status <= 299) return { isSet: true };
      const isTransient = status === 429 || status >= 500;
      return { isSet: false, isTransient, problem: `the functions' address answers ${status}` };
    } catch (error) {
      if (!(error instanceof SendError)) throw error;
      return { isSet: false, isTransient: error.isTransient, problem: error.message };
    }
  }

  #send(method: "GET" | "POST" | "PUT" | "DELETE", path: string, members: object | undefined, signal: AbortSignal) {
    const request = { ...restCall(path, members ?? {}), method, ...(members === undefined && { body: "" }) };
    return this.#settings.client.send(this.#settings.endpoint as ServiceEndpoint, functionService, request, signal);
  }
}

/** Name and qualifier as one text, as the Invoke API expects it: `orders`, `orders:live`. */
export const functionNameOf = (functionArn: string): string =>
  encodeURIComponent(functionArn.split(":").slice(6).join(":"));

/** The path of a function by its encoded name. */
export const functionPath = (name: string): string => `/2015-03-31/functions/${name}`;

/** The name alone: a configuration belongs to all versions and aliases. */
const unqualifiedNameOf = (functionArn: string): string => encodeURIComponent(functionArn.split(":")[6] ?? "");

/** The policy of a function, or of its alias or version. `$LATEST` has none of its own. */
const policyOf = (functionArn: string): { readonly path: string; readonly query: string } => {
  const qualifier = functionArn.split(":")[7];
  return {
    path: `${functionPath(unqualifiedNameOf(functionArn))}/policy`,
    query: qualifier === undefined || qualifier === "$LATEST" ? "" : `?Qualifier=${encodeURIComponent(qualifier)}`,
  };
};

const stateIn = (body: string): unknown => {
  try {
    return (parseJson(body) as { Configuration?: { State?: unknown } } | null)?.Configuration?.State;
  } catch {
    return undefined;
  }
};

/** Whether a policy, which is a text within the answer, has a statement. */
const hasStatement = (body: string, statementId: string): boolean => {
  try {
    const { Policy: policy } = parseJson(body) as { Policy: string };
    const { Statement: statements } = parseJson(policy) as { Statement: readonly { readonly Sid?: unknown }[] };
    return statements.some(({ Sid: sid }) => sid === statementId);
  } catch {
    return false;
  }
};
