import type { CreateConnectionOAuthParameters } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { ConnectionOAuthHttpMethod } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import { isStillAhead } from "../../kit/clock/clock.ts";
import { growingCache } from "../../kit/collections/growing-cache.ts";
import { parametersOf, setQuery } from "./api-request.ts";
import type { HttpSender, OutgoingRequest } from "../../kit/outgoing/http-sender.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/** The authorization endpoint returned no token. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  /** False if the endpoint refused: another request with the same secrets would fail as well. */
  readonly isTransient: boolean;

  constructor(message: string, isTransient: boolean) {
    super(message);
    this.isTransient = isTransient;
  }
}

/** A token in memory. */
interface CachedToken {
  readonly token: string;
  readonly validUntilMs: number;
  /** For how long it was valid when it was fetched. */
  readonly validMs: number;
}

/** Milliseconds before a token expires during which it is not used. */
const marginMs = 30_000;
/** Milliseconds for which a token is used whose answer names no lifetime. */
const lifetimeMsDefault = 300_000;
/** Bytes of an answer that are read. */
const answerBytesMax = 65_536;
/** Tokens in memory; the least recently used one is dropped first and fetched again when needed. */
const cachedTokensMax = 10_000;

/** Tokens of OAuth connections, fetched when needed and cached in memory while they are valid. */
export class OAuthTokens {
  readonly #sender: HttpSender;
  readonly #clock: Clock;
  readonly #cached = growingCache<string, CachedToken>(cachedTokensMax);
  readonly #fetching = new Map<string, Promise<CachedToken>>();

  constructor(sender: HttpSender, clock: Clock) {
    this.#sender = sender;
    this.#clock = clock;
  }

  /** Returns a valid token. `key` names the connection and the revision of its secret. Throws TokenError, SendError. */
  async get(key: string, oauth: CreateConnectionOAuthParameters): Promise<string> {
    const cached = this.#cached.get(key);
    if (cached !== undefined && isStillAhead(cached.validUntilMs, cached.validMs, this.#clock.now()))
      return cached.token;
    // Deliveries that need the same token wait for one request.
    let fetching = this.#fetching.get(key);
    if (fetching === undefined) {
      fetching = this.#fetch(oauth).finally(() => this.#fetching.delete(key));
      this.#fetching.set(key, fetching);
    }
    const fetched = await fetching;
    this.#cached.set(key, fetched);
    return fetched.token;
  }

  /** Forgets a token that an endpoint refused. */
  drop(key: string, token: string): void {
    if (this.#cached.get(key)?.token === token) this.#cached.delete(key);
  }

  async #fetch(oauth: CreateConnectionOAuthParameters): Promise<CachedToken> {
    // Several deliveries may wait for the token, so none of them may abort the request.
    const answer = await this.#sender.send(tokenRequest(oauth), new AbortController().signal, answerBytesMax);
    if (answer.status < 200 || answer.status >= 300)
      throw new TokenError(
        `The authorization endpoint answered with status ${answer.status}.`,
        answer.status >= 500 || answer.status === 429,
      );
    const { token, seconds } = readAnswer(answer.body);
    const lifetimeMs = seconds === undefined ? lifetimeMsDefault : seconds * 1_000;
    const validMs = Math.max(0, lifetimeMs - marginMs);
    return { token, validMs, validUntilMs: this.#clock.now() + validMs };
  }
}

const readAnswer = (body: string): { readonly token: string; readonly seconds: number | undefined } => {
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    throw new TokenError("The authorization endpoint answered with something that is not JSON.", false);
  }
  const { access_token: token, expires_in: seconds } = (parsed ?? {}) as Record<string, unknown>;
  if (typeof token !== "string" || token === "" || /[^\x21-\x7e]/.test(token))
    throw new TokenError("The authorization endpoint's answer holds no access_token.", false);
  const number = Number(seconds);
  return { token, seconds: seconds === undefined || !Number.isFinite(number) ? undefined : number };
};

/**
 * The request for a token. A GET has the grant type, the client id and the secret in its query. Other methods have them
 * in the body: as JSON if the connection sets that content type, otherwise as a form.
 */
const tokenRequest = (oauth: CreateConnectionOAuthParameters): OutgoingRequest => {
  const http = oauth.oAuthHttpParameters;
  const url = new URL(oauth.authorizationEndpoint);
  setQuery(url, parametersOf(http?.queryStringParameters));
  const headers = Object.fromEntries(
    parametersOf(http?.headerParameters).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const fields = Object.fromEntries([
    ["grant_type", "client_credentials"],
    ["client_id", oauth.clientParameters?.clientId ?? ""],
    ["client_secret", oauth.clientParameters?.clientSecret ?? ""],
    ...parametersOf(http?.bodyParameters),
  ]);
  if (oauth.httpMethod === ConnectionOAuthHttpMethod.GET) {
    setQuery(url, Object.entries(fields));
    return { method: "GET", url, headers: { accept: "application/json", ...headers }, body: undefined };
  }
  const isJson = /^application\/json\b/i.test(headers["content-type"] ?? "");
  return {
    method: oauth.httpMethod === ConnectionOAuthHttpMethod.PUT ? "PUT" : "POST",
    url,
    headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded", ...headers },
    body: isJson ? JSON.stringify(fields) : new URLSearchParams(fields).toString(),
  };
};
