/**
 * The stages of a request: identify -> admit its origin -> authenticate -> bind -> call -> render.
 *
 * No stage knows an operation: routes, places of members, codecs and refusals come from descriptors. A stage throws
 * what it refuses; the refusal is rendered for the API and the dialect that are known by then.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { RequestProgress } from "./access-log.ts";
import { logAnswer } from "./access-log.ts";
import { answerVisitor } from "../website/answer-visitor.ts";
import { authenticate } from "./authenticate.ts";
import { bind } from "./bind.ts";
import { ask, call } from "./call.ts";
import { checkHead } from "./check-head.ts";
import { bindCloudEvents, isCloudEvents, renderCloudEvents } from "./cloud-events.ts";
import { admitOrigin, answerPreflight, isPreflight } from "./cross-origin.ts";
import type { HttpExchange } from "./exchange.ts";
import { openHttpExchange, readHead } from "./exchange.ts";
import { identify } from "./identify.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { render, renderFault } from "./render.ts";
import { authenticateForm, bindForm, identifyForm, isFormUpload, renderForm } from "./upload-form.ts";

/** What the server knows about a request besides its head. */
export interface Arrival {
  /** Whether the client waits for `100 Continue`. */
  readonly expectsContinue: boolean;
  /** Whether the gateway serves too many other requests already. */
  readonly isBusy: boolean;
  /** What the Server header of the answer says. Undefined: there is none. */
  readonly serverName?: string | undefined;
}

/** Answers one request. Never rejects: a failure is rendered, or ends the connection, and is logged. */
export const answer = async (
  gateway: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
  { expectsContinue, isBusy, serverName }: Arrival,
): Promise<void> => {
  const progress: RequestProgress = {
    identity: { binding: gateway.fallbackBinding, spelling: gateway.dialects.fallback, path: "/" },
    caller: undefined,
    bound: undefined,
    startedMs: performance.now(),
  };
  const exchange = openHttpExchange(request, response, { expectsContinue, serverName }, gateway);
  await exchange.work.run(async () => {
    try {
      const head = readHead(exchange, gateway.limits);
      const site = gateway.websites?.bucketOf(head.headers.host);
      progress.identity = site === undefined ? identify(head, gateway) : progress.identity;
      if (isBusy) throw refusal(ErrorReason.BUSY);
      checkHead(request, progress.identity);
      if (site !== undefined) await answerVisitor({ gateway, exchange, head, progress, bucket: site });
      else if (isPreflight(head)) await answerPreflight(gateway, exchange, head, progress.identity);
      else if (isFormUpload(head, progress.identity)) await answerForm(gateway, exchange, head, progress);
      else await answerRequest(gateway, exchange, head, progress);
    } catch (thrown) {
      refuse(gateway, exchange, progress, thrown);
    } finally {
      logAnswer(gateway, exchange, progress);
    }
  });
};

const answerRequest = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  progress: RequestProgress,
): Promise<void> => {
  const { identity } = progress;
  // What waits for nothing is not awaited: each wait shows in the cost of a small request.
  const admitted = admitOrigin(gateway, exchange, head, identity);
  if (admitted !== undefined) await admitted;
  const signer = authenticate(gateway, exchange, head, identity);
  const authenticated = signer instanceof Promise ? await signer : signer;
  progress.caller = authenticated.caller;
  const origin = { ...authenticated, head, identity };
  if (isCloudEvents(identity)) {
    const events = bindCloudEvents(head, identity, authenticated);
    progress.bound = events;
    return renderCloudEvents(gateway, exchange, identity, events, call(gateway, exchange, events, origin));
  }
  const bound = await bind(exchange, head, identity, authenticated, (asked) => ask(gateway, exchange, asked, origin));
  progress.bound = bound;
  const outcome = call(gateway, exchange, bound, origin);
  await render(gateway, exchange, identity, bound, outcome);
};

const answerForm = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  progress: RequestProgress,
): Promise<void> => {
  await admitOrigin(gateway, exchange, head, progress.identity);
  const form = await identifyForm(gateway, exchange, head, progress.identity);
  progress.identity = form.identity;
  const authenticated = authenticateForm(gateway, exchange, form);
  progress.caller = authenticated.caller;
  const bound = bindForm(form.identity, authenticated);
  progress.bound = bound;
  const outcome = call(gateway, exchange, bound, {
    caller: authenticated.caller,
    signedHeaders: [],
    head,
    identity: form.identity,
  });
  await renderForm(gateway, exchange, form, authenticated, bound, outcome);
};

/** A refusal that cannot be written must not end the process. */
const refuse = (
  gateway: Gateway,
  exchange: HttpExchange,
  { identity, bound }: RequestProgress,
  thrown: unknown,
): void => {
  try {
    renderFault(gateway, exchange, identity, bound, thrown);
  } catch (error) {
    gateway.log.error({ err: error, cause: thrown, requestId: exchange.requestId }, "a refusal could not be written");
    exchange.response.destroy();
  }
};
