import assert from "node:assert/strict";

import { amzDialect } from "../../gateway/dialects/amz.ts";
import type { TestRequest, TestResponse } from "../gateway/support/signing-client.ts";
import { send, signHeaders } from "../gateway/support/signing-client.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import type { LoggedSystem } from "../support/logged-system.ts";
import type { PlantedSecrets } from "./planted-secrets.ts";

/** Calls of a system with secrets in them. */
export class SecretCalls {
  readonly system: LoggedSystem;
  readonly dataDir: string;
  readonly endpoint: HttpReceiver;
  readonly secrets: PlantedSecrets;
  readonly secretAccessKey: string;
  /** The bodies of refusals, by what was refused. */
  readonly refusals = new Map<string, string>();

  constructor(
    system: LoggedSystem,
    dataDir: string,
    endpoint: HttpReceiver,
    secrets: PlantedSecrets,
    secretAccessKey: string,
  ) {
    this.system = system;
    this.dataDir = dataDir;
    this.endpoint = endpoint;
    this.secrets = secrets;
    this.secretAccessKey = secretAccessKey;
  }

  /** Signs for a service, with the wrong secret where one is given, and sends. */
  signed(service: string, request: TestRequest, secret = this.secretAccessKey): Promise<TestResponse> {
    const headers = signHeaders(request, new URL(this.system.gatewayUrl).host, {
      brand: amzDialect.signature,
      service,
      nowMs: Date.now(),
      tellsHash: service === "s3",
      secret,
    });
    return send(this.system.gatewayUrl, request, headers);
  }

  onBus(operation: string, body: unknown): Promise<TestResponse> {
    const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AWSEvents.${operation}` };
    return this.signed("events", { method: "POST", target: "/", headers, body: textOf(body) });
  }

  onProfiles(method: string, target: string, body: unknown): Promise<TestResponse> {
    const headers = { "content-type": "application/json" };
    return this.signed("profile", { method, target, headers, body: textOf(body) });
  }

  async succeeds(answer: Promise<TestResponse>): Promise<TestResponse> {
    const { status, body } = await answer;
    assert.ok(status < 300, body);
    return answer;
  }

  /** Keeps the refusal. */
  async fails(what: string, answer: Promise<TestResponse | Response>): Promise<void> {
    const given = await answer;
    const body = given instanceof Response ? await given.text() : given.body;
    assert.ok(given.status >= 400, `${what} is not refused: ${body}`);
    this.refusals.set(what, body);
  }
}

const textOf = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body));

/** A member of a JSON answer. */
export const member = (answer: TestResponse, name: string): string =>
  String((JSON.parse(answer.body) as Record<string, unknown>)[name]);
