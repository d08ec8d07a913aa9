/**
 * Answers visitors of websites. They are nobody: signatures do not count, and a bucket's policy or ACLs must let
 * everybody read. A request goes through the same stages as one of object storage, with a key in place of its path.
 */
import type {
  GetObjectResponse,
  HeadObjectResponse,
} from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { WebsiteConfiguration } from "../../gen/quartet/objectstorage/v1/website_pb.ts";
import { faultOf } from "../faults/fault-of.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import type { Gateway } from "../gateway.ts";
import { decodePercent } from "../http/percent.ts";
import { parseQuery } from "../http/query.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { RequestProgress } from "../pipeline/access-log.ts";
import { authenticate } from "../pipeline/authenticate.ts";
import { bind } from "../pipeline/bind.ts";
import { call } from "../pipeline/call.ts";
import { admitOrigin, answerPreflight } from "../pipeline/cross-origin.ts";
import type { HttpExchange } from "../pipeline/exchange.ts";
import { arrivedOverTls } from "../pipeline/exchange.ts";
import { idHeaders, render, sendAnswer } from "../pipeline/render.ts";
import type { Answer, Identity } from "../pipeline/stages.ts";
import type { PageError } from "./error-page.ts";
import { errorPage } from "./error-page.ts";
import type { SitePlace, SiteRedirect } from "./site-routing.ts";
import { encodePath, redirectByRule, redirectOfAll, siteKey } from "./site-routing.ts";
import type { Websites } from "./site-source.ts";

/** The headers of a visitor that count for the object. */
const kept = new Set(["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"]);

/** One request of a visitor. */
interface Visit {
  readonly gateway: Gateway;
  readonly exchange: HttpExchange;
  readonly head: RequestHead;
  readonly progress: RequestProgress;
  readonly bucket: string;
}

/** Answers a request for a website. Rejects with what an answer to object storage would be refused with. */
export const answerVisitor = async (visit: Visit): Promise<void> => {
  const { gateway, exchange, head, progress, bucket } = visit;
  progress.identity = { ...progress.identity, path: `/${bucket}/` };
  if (head.method === "OPTIONS") return answerPreflight(gateway, exchange, head, progress.identity);
  try {
    if (head.method !== "GET" && head.method !== "HEAD") throw new MethodRefused();
    await admitOrigin(gateway, exchange, head, progress.identity);
    const site = await (gateway.websites as Websites).find(bucket);
    await answerFrom(visit, site, decodePercent(head.rawPath.slice(1)));
  } catch (thrown) {
    if (exchange.response.headersSent) throw thrown;
    sendError(visit, errorOf(visit, thrown), undefined);
  }
};

/** A visitor may only read. */
class MethodRefused extends Error {
  override readonly name = "MethodRefused";
}

const answerFrom = async (visit: Visit, site: WebsiteConfiguration, path: string): Promise<void> => {
  const place = placeOf(visit);
  const redirect = redirectOfAll(site, place, path) ?? redirectByRule(site, place, path, undefined);
  if (redirect !== undefined) return sendRedirect(visit, redirect);
  try {
    await sendObject(visit, siteKey(site, path), undefined);
  } catch (thrown) {
    if (visit.exchange.response.headersSent) throw thrown;
    const error = errorOf(visit, thrown);
    if (error.status === 304) throw thrown;
    const isFolder = error.status === 404 && !path.endsWith("/") && path !== "" && (await hasIndex(visit, site, path));
    const other = isFolder
      ? { status: 302, location: folderLocation(path) }
      : redirectByRule(site, place, path, error.status);
    if (other !== undefined) return sendRedirect(visit, other);
    await sendErrorDocument(visit, site, error);
  }
};

/** The path of a folder. One that begins with two slashes would be the address of another host. */
const folderLocation = (path: string): string => `/${encodePath(path).replace(/^\//, "%2F")}/`;

const placeOf = ({ exchange }: Visit): SitePlace => ({
  protocol: arrivedOverTls(exchange) ? "https" : "http",
  host: exchange.request.headers.host ?? "",
});

/** Sends an object, with another status if one is given; a redirect that is stored with it takes its place. */
const sendObject = async (visit: Visit, key: string, status: number | undefined): Promise<void> => {
  const { gateway, exchange, head, progress } = visit;
  const { answer, identity, bound } = await read(visit, key, head.method, status === undefined);
  const message = answer.message as GetObjectResponse | HeadObjectResponse;
  const { websiteRedirectLocation: location } = message;
  if (location !== undefined && status === undefined) {
    await answer.more?.return?.();
    return sendRedirect(visit, { status: 301, location });
  }
  if (status !== undefined) message.statusCode = status;
  progress.bound = bound;
  await render(gateway, exchange, identity, bound, Promise.resolve(answer));
};

/** Whether a path without its last slash is a folder with an index document. */
const hasIndex = async (visit: Visit, { indexDocument }: WebsiteConfiguration, path: string): Promise<boolean> => {
  try {
    await read(visit, `${path}/${indexDocument?.suffix ?? ""}`, "HEAD", false);
    return true;
  } catch {
    return false;
  }
};

/** Reads an object as nobody. Rejects with the refusal. */
const read = async (visit: Visit, key: string, method: string, hasConditions: boolean) => {
  const { gateway, exchange, progress, bucket } = visit;
  const identity: Identity = { ...progress.identity, path: `/${bucket}/${encodePath(key)}` };
  const head = headFor(visit, method, identity.path, hasConditions);
  const authenticated = await authenticate(gateway, exchange, head, identity);
  progress.caller = authenticated.caller;
  const bound = await bind(exchange, head, identity, authenticated, () => Promise.resolve());
  const answer: Answer = await call(gateway, exchange, bound, { ...authenticated, head, identity });
  return { answer, identity, bound };
};

/** The head of a request for an object, with nothing by which a visitor could be somebody. */
const headFor = ({ head }: Visit, method: string, rawPath: string, hasConditions: boolean): RequestHead => {
  const headers = Object.fromEntries(Object.entries(head.headers).filter(([name]) => hasConditions && kept.has(name)));
  const rawHeaders = Object.entries(headers).flatMap(([name, value]) => [name, String(value)]);
  return { method, rawPath, query: parseQuery(""), headers, rawHeaders };
};

const sendRedirect = ({ gateway, exchange, progress }: Visit, { status, location }: SiteRedirect): void => {
  const headers = { ...idHeaders(gateway, exchange, progress.identity), location: location.replaceAll(/[\r\n]/g, "") };
  sendAnswer(exchange, { status, headers });
};

/** Sends the website's own document for an error, or a page about it. */
const sendErrorDocument = async (visit: Visit, site: WebsiteConfiguration, error: HttpFault): Promise<void> => {
  const key = site.errorDocument?.key;
  if (key === undefined || visit.head.method === "HEAD") return sendError(visit, error, undefined);
  try {
    await sendObject(visit, key, error.status);
  } catch (thrown) {
    if (visit.exchange.response.headersSent) throw thrown;
    sendError(visit, error, errorOf(visit, thrown));
  }
};

const errorOf = ({ progress, head }: Visit, thrown: unknown): HttpFault => {
  const { binding, spelling } = progress.identity;
  if (thrown instanceof MethodRefused) return methodRefused(head.method);
  return faultOf(thrown, { table: binding.faults, protocol: binding.api.protocol, spelling, bound: undefined }).fault;
};

const methodRefused = (method: string): HttpFault => ({
  name: "MethodNotAllowed",
  publicName: "MethodNotAllowed",
  status: 405,
  message: "The specified method is not allowed against this resource.",
  members: [
    ["Method", method],
    ["ResourceType", "OBJECT"],
  ],
  headers: { allow: "GET, HEAD" },
});

const sendError = (visit: Visit, error: HttpFault, ofDocument: HttpFault | undefined): void => {
  const { gateway, exchange, progress } = visit;
  const ids = [
    ["RequestId", exchange.requestId],
    ["HostId", gateway.hostId],
  ] as const;
  if (exchange.report !== undefined) exchange.report.errorCode = error.publicName;
  const page = errorPage(error.status, pageError(error), ids, ofDocument && pageError(ofDocument));
  const headers = {
    "content-type": "text/html; charset=utf-8",
    ...idHeaders(gateway, exchange, progress.identity),
    ...(error.headers.allow !== undefined && { allow: error.headers.allow }),
  };
  sendAnswer(exchange, { status: error.status, headers }, page);
};

const pageError = ({ publicName, message, members }: HttpFault): PageError => ({ code: publicName, message, members });
