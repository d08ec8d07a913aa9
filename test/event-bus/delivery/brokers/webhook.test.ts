import { createHmac } from "node:crypto";

import { describe, expect, onTestFinished, test } from "vitest";

import { webhookHeaders } from "../../../../services/event-bus/domain/webhook-signature.ts";
import type { Answer } from "../../../support/http-receiver.ts";
import { startHttpReceiver } from "../../../support/http-receiver.ts";
import { openBrokerShop } from "./broker-shop.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const receive = async (answer?: Answer) => {
  const receiver = await startHttpReceiver(answer);
  onTestFinished(() => receiver.close());
  return receiver;
};

test("a webhook is signed as the published example is", () => {
  const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  expect(webhookHeaders(secret, id, 1_614_265_330_999, '{"test": 2432232314}')).toEqual({
    "webhook-id": id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

describe("a delivery to a webhook", () => {
  test("is a signed POST of the input, with the same id in each attempt", async () => {
    const receiver = await receive(() => ({ status: receiver.received.length === 1 ? 500 : 204 }));
    const { sell, putTarget, clock, app, deadLetters } = await openBrokerShop({
      url: `${receiver.url}/hooks?a=1`,
      secret,
    });
    await putTarget("");
    await sell();
    clock.advance(60_000);
    await app.jobs.idle();
    expect(await deadLetters()).toEqual([]);
    const [first, second] = receiver.received;
    expect(first).toMatchObject({ method: "POST", url: "/hooks?a=1", headers: { "content-type": "application/json" } });
    expect(first?.body.toString()).toBe('{"n":1}');
    expect(first?.headers["webhook-timestamp"]).toBe("1767323045");
    expect(second?.headers["webhook-timestamp"]).toBe("1767323105");
    const id = String(first?.headers["webhook-id"]);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(second?.headers["webhook-id"]).toBe(id);
    const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
    const signed = createHmac("sha256", key).update(`${id}.1767323045.{"n":1}`).digest("base64");
    expect(first?.headers["webhook-signature"]).toBe(`v1,${signed}`);
  });

  test("without a secret is not signed", async () => {
    const receiver = await receive();
    const { sell, putTarget } = await openBrokerShop({ url: receiver.url });
    await putTarget("");
    await sell();
    expect(receiver.received[0]?.headers).not.toHaveProperty("webhook-signature");
  });

  test("may have a private address, which targets of users may not", async () => {
    const receiver = await receive();
    const { outcomeAt } = await openBrokerShop({ url: receiver.url, secret }, { allowsPrivateTargets: false });
    expect(await outcomeAt("")).toBe("delivered");
  });

  // status, place, outcome without a further retry
  test.each([
    [410, "", "failed ERROR_FROM_TARGET: The endpoint answered with status 410."],
    [429, "", "retry THROTTLING: The endpoint answered with status 429."],
    [503, "", "retry ERROR_FROM_TARGET: The endpoint answered with status 503."],
    [
      200,
      "queue/a",
      "failed INVALID_PARAMETER: The broker main has nothing of the kind that arn:aws:events:us-east-1:000000000000:broker/main/queue/a names.",
    ],
  ])("that answers %d at %j ends as %s", async (status, place, outcome) => {
    const receiver = await receive(() => ({ status }));
    const { outcomeAt } = await openBrokerShop({ url: receiver.url, secret });
    expect(await outcomeAt(place)).toBe(outcome);
  });
});
