import { parseJson } from "../../kit/json/parse-json.ts";

/** The queue that a domain names. */
export interface Queue {
  /** 12 digits. */
  readonly account: string;
  readonly name: string;
}

/** The queue of a URL that ends with its account and its name; undefined if the text is not such a URL. */
export const queueOf = (text: string): Queue | undefined => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return undefined;
  const [, account, name] = /\/([0-9]{12})\/([A-Za-z0-9_-]{1,75}\.fifo|[A-Za-z0-9_-]{1,80})$/.exec(url.pathname) ?? [];
  return account === undefined || name === undefined ? undefined : { account, name };
};

/** Why a domain of the account cannot have this queue; undefined if it can. An empty text is no queue. */
export const findQueueProblem = (text: string, accountId: string): string | undefined => {
  if (text === "") return undefined;
  const queue = queueOf(text);
  if (queue === undefined) return "it must be the URL of a queue, https://<host>/<account>/<name>";
  return queue.account === accountId ? undefined : "it must be a queue of the own account";
};

/** An object that found no place in a profile. */
export interface RefusedObject {
  /** 32 hexadecimal digits; the same in all copies of the message. */
  readonly letterId: string;
  readonly domainName: string;
  readonly objectTypeName: string;
  /** Undefined: the text is a record of a flow, which has none. */
  readonly objectKey: string | undefined;
  /** The text of the request, or of the record. */
  readonly object: string;
  readonly errorCode: string;
  readonly errorMessage: string;
  readonly failedMs: number;
}

/** The body of the message, JSON. Its version changes if a member gets another meaning or is left out. */
export const letterBody = (refused: RefusedObject): string =>
  JSON.stringify({
    Version: "1.0",
    Id: refused.letterId,
    Time: new Date(refused.failedMs).toISOString(),
    DomainName: refused.domainName,
    ObjectTypeName: refused.objectTypeName,
    ProfileObjectUniqueKey: refused.objectKey ?? null,
    ErrorCode: refused.errorCode,
    ErrorMessage: refused.errorMessage,
    Object: refused.object,
  })
    // Queues refuse these two characters.
    .replaceAll("\ufffe", String.raw`\ufffe`)
    .replaceAll("\uffff", String.raw`\uffff`);

/** The body less its object, for a queue that does not accept so many bytes. */
export const withoutObject = (body: string): string =>
  JSON.stringify({ ...(parseJson(body) as Readonly<Record<string, unknown>>), Object: null });
