import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { describe, expect, onTestFinished, test } from "vitest";

import { beginEarly } from "../../../gateway/http/early-answer.ts";

const headers = { "x-amz-request-id": "r1" };
const declared = Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n<Done/>');

/** What a client gets from a server that answers in this way. */
const answerOf = async (answer: (response: ServerResponse) => Promise<void>) => {
  const server = createServer((_request, response) => void answer(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const id = response.headers.get("x-amz-request-id");
  return { status: response.status, type: response.headers.get("content-type"), id, text: await response.text() };
};

describe("an answer whose document may take long", () => {
  test.each([
    // how the outcome settles
    ["is there", () => Promise.resolve()],
    ["is refused", () => Promise.reject(new Error("refused"))],
    ["is there within the interval", () => delay(5)],
  ])("begins with its own status when the document %s", async (_how, settle) => {
    const answer = await answerOf(async (response) => {
      const early = await beginEarly(response, settle(), 10_000, headers);
      response.writeHead(early === undefined ? 409 : 200).end();
    });
    expect(answer.status).toBe(409);
  });

  test.each([
    // the document, what follows the declaration and the white space
    ["with its declaration", declared, "<Done/>"],
    ["without one", Buffer.from("<Error/>"), "<Error/>"],
    ["empty", undefined, ""],
  ])(
    "begins with 200 and is kept alive with white space until there is a document: %s",
    async (_how, document, end) => {
      const { promise: outcome, resolve: settle } = Promise.withResolvers<void>();
      const { text, ...head } = await answerOf(async (response) => {
        const early = await beginEarly(response, outcome, 5, headers);
        await delay(50);
        settle();
        early?.finish(document);
      });
      expect(head).toEqual({ status: 200, type: "application/xml", id: "r1" });
      expect(text).toMatch(new RegExp(`^<\\?xml version="1.0" encoding="UTF-8"\\?>\\n {2,}${end}$`));
    },
  );
});
