import type { Clock } from "../clock/clock.ts";
import type { HttpSender, OutgoingRequest } from "./http-sender.ts";
import { outcomeOfError } from "./http-sender.ts";
import type { ServiceOutcome } from "./service-outcome.ts";
import { classifyServiceAnswer, errorNameOf } from "./service-outcome.ts";
import type { ServiceRequest } from "./service-request.ts";
import { signedHeaders } from "./signature.ts";

/** Where a service is reached, and in whose name. */
export interface ServiceEndpoint {
  /** The base address. */
  readonly url: string;
  /** The region that signatures name. */
  readonly region: string;
  /** Empty: requests are not signed. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Bytes of an answer that are read, for the name of its error. */
const answerBytesMax = 65_536;

/** Calls the APIs of services at configured endpoints. */
export class ServiceClient {
  readonly #sender: HttpSender;
  readonly #clock: Clock;

  constructor(sender: HttpSender, clock: Clock) {
    this.#sender = sender;
    this.#clock = clock;
  }

  /** Makes one call; if the service answers that something does not exist, creates it and calls again. */
  async call(
    endpoint: ServiceEndpoint,
    service: string,
    request: ServiceRequest,
    signal: AbortSignal,
    creation?: ServiceRequest,
  ): Promise<ServiceOutcome> {
    try {
      const answer = await this.send(endpoint, service, request, signal);
      if (creation === undefined || errorNameOf(answer.body) !== "ResourceNotFoundException")
        return classifyServiceAnswer(answer.status, answer.body);
      const created = await this.send(endpoint, service, creation, signal);
      if (created.status >= 300 && errorNameOf(created.body) !== "ResourceAlreadyExistsException")
        return classifyServiceAnswer(created.status, created.body);
      const again = await this.send(endpoint, service, request, signal);
      return classifyServiceAnswer(again.status, again.body);
    } catch (error) {
      return outcomeOfError(error);
    }
  }

  /** Sends one signed request; returns the status and the beginning of the body. Throws SendError. */
  async send(endpoint: ServiceEndpoint, service: string, request: ServiceRequest, signal: AbortSignal) {
    const { method = "POST", path = "/", headers, body } = request;
    const url = new URL(endpoint.url.replace(/\/$/, "") + path);
    const { accessKeyId, secretAccessKey, region } = endpoint;
    const sent =
      accessKeyId === ""
        ? headers
        : signedHeaders(
            { method, url, headers, body },
            { accessKeyId, secretAccessKey, region, service },
            this.#clock.now(),
          );
    const outgoing = { method: method as OutgoingRequest["method"], url, headers: sent, body: body || undefined };
    return this.#sender.send(outgoing, signal, answerBytesMax);
  }
}
