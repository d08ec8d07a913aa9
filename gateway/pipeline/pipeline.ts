/**
 * The way of one request through the gateway: identify -> admit its origin -> authenticate -> bind -> call -> render.
 *
 * Nothing here knows an operation: routes, places, codecs and refusals all come from descriptors. Whatever a stage
 * refuses is thrown, and rendered in the words of the API and dialect that were found so far.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

import { noteAnswer } from "./access-log.ts";
import { authenticate } from "./authenticate.ts";
import { bind } from "./bind.ts";
import { call } from "./call.ts";
import { admitOrigin, answerPreflight, isPreflight } from "./cross-origin.ts";
import type { HttpExchange } from "./exchange.ts";
import { openHttpExchange, readHead } from "./exchange.ts";
import { isFormUpload, uploadForm } from "./upload-form.ts";
import { identify } from "./identify.ts";
import type { Gateway } from "../gateway.ts";
import { render, renderFault } from "./render.ts";
import type { BoundCall, Identity } from "./stages.ts";

/** Answers one request. Never rejects: what goes wrong is rendered, or ends the connection, and is logged. */
export const answer = async (
  gateway: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): Promise<void> => {
  const startedMs = performance.now();
  const exchange = openHttpExchange(request, response, expectsContinue, gateway.ids.uuid(), gateway.limits);
  await exchange.work.run(() => answerExchange(gateway, exchange, startedMs));
};

const answerExchange = async (gateway: Gateway, exchange: HttpExchange, startedMs: number): Promise<void> => {
  let identity: Identity = { binding: gateway.fallbackBinding, spelling: gateway.dialects.fallback, path: "/" };
  let bound: BoundCall | undefined;
  let accountId: string | undefined;
  try {
    const head = readHead(exchange, gateway.limits);
    identity = identify(head, gateway);
    if (isPreflight(head)) {
      await answerPreflight(gateway, exchange, head, identity);
      return;
    }
    if (head.headers.origin !== undefined) await admitOrigin(gateway, exchange, head, identity);
    if (isFormUpload(head, identity)) {
      await uploadForm(gateway, exchange, head, identity, (found, form) => {
        identity = found;
        bound = form;
      });
      return;
    }
    const authenticated = await authenticate(gateway, exchange, head, identity);
    accountId = authenticated.caller.accountId;
    bound = await bind(exchange, head, identity, authenticated);
    const outcome = call(gateway, exchange, bound, authenticated.caller, head);
    await render(gateway, exchange, identity, bound, outcome);
  } catch (thrown) {
    refuse(gateway, exchange, identity, bound, thrown);
  } finally {
    noteAnswer(gateway, exchange, { identity, operation: bound?.method.desc.name, accountId, startedMs });
  }
};

/** A refusal that cannot be written either must not take the process along. */
const refuse = (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound: BoundCall | undefined,
  thrown: unknown,
): void => {
  try {
    renderFault(gateway, exchange, identity, bound, thrown);
  } catch (error) {
    gateway.log.error({ err: error, cause: thrown, requestId: exchange.requestId }, "a refusal could not be written");
    exchange.response.destroy();
  }
};
