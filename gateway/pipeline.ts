/**
 * The way of one request through the gateway: identify -> authenticate -> bind -> call -> render.
 *
 * Nothing here knows an operation: routes, places, codecs and refusals all come from descriptors. Whatever a stage
 * refuses is thrown, and rendered in the words of the API and dialect that were found so far.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

import { authenticate } from "./authenticate.ts";
import { bind } from "./bind.ts";
import { call } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import { openExchange, readHead } from "./exchange.ts";
import { isFormUpload, uploadForm } from "./forms/upload-form.ts";
import type { Identity } from "./identify.ts";
import { identify } from "./identify.ts";
import type { Gateway } from "./gateway.ts";
import { render, renderFault } from "./render.ts";

/** Answers one request. Never rejects: what goes wrong is rendered, or ends the connection, and is logged. */
export const answer = async (
  gateway: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): Promise<void> => {
  const startedMs = performance.now();
  const exchange = openExchange(request, response, expectsContinue, gateway.ids.uuid(), gateway.limits);
  let identity: Identity = gateway.fallbackIdentity;
  let operation: string | undefined;
  try {
    const head = readHead(exchange, gateway.limits);
    identity = identify(head, gateway);
    if (isFormUpload(gateway, head, identity)) {
      operation = "form upload";
      await uploadForm(gateway, exchange, head, identity, (found) => {
        identity = found;
      });
      return;
    }
    const believed = await authenticate(gateway, exchange, head, identity);
    const bound = await bind(gateway, exchange, head, identity, believed);
    operation = bound.method.desc.name;
    const outcome = call(gateway, exchange, bound, believed.caller, head);
    await render(gateway, exchange, identity, bound, outcome);
  } catch (thrown) {
    refuse(gateway, exchange, identity, thrown);
  } finally {
    gateway.log.debug(
      {
        requestId: exchange.requestId,
        method: request.method,
        path: exchange.rawPath,
        api: identity.api,
        operation,
        status: response.statusCode,
        ms: Math.round(performance.now() - startedMs),
      },
      "answered",
    );
  }
};

/** A refusal that cannot be written either must not take the process along. */
const refuse = (gateway: Gateway, exchange: Exchange, identity: Identity, thrown: unknown): void => {
  try {
    renderFault(gateway, exchange, identity, thrown);
  } catch (error) {
    gateway.log.error({ err: error, cause: thrown, requestId: exchange.requestId }, "a refusal could not be written");
    exchange.response.destroy();
  }
};
