import { createHmac } from "node:crypto";

const secretPrefix = "whsec_";

/**
 * The headers by which the receiver of a webhook knows its sender (Standard Webhooks, symmetric signatures): an id that
 * stays the same when a message is sent again, the time of sending in seconds, and an HMAC of both with the body.
 */
export const webhookHeaders = (secret: string, id: string, nowMs: number, body: string | Buffer) => {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
};
