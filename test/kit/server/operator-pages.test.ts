import { once } from "node:events";
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";

import { expect, onTestFinished, test } from "vitest";

import type { Authenticate } from "../../../services/kit/identity/authenticate.ts";
import { rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { ForgedTokenError, UnauthenticatedError } from "../../../services/kit/identity/unauthenticated-error.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { startTestServer } from "./test-service.ts";

const authenticate: Authenticate = async (authorization) => {
  if (authorization === "Bearer root") return rootCaller("111122223333");
  if (authorization === "Bearer forged") throw new ForgedTokenError();
  if (authorization === "Bearer alice") return userCaller("111122223333", "alice", []);
  throw new UnauthenticatedError("untrusted");
};

const start = async () => {
  const { log, lines } = capturingLogger("error");
  const asked: string[] = [];
  const pages = {
    "/list": async (query: URLSearchParams) => {
      asked.push(query.toString());
      if (query.get("limit") === "0") throw new RangeError("limit is too small.");
      if (query.get("limit") === "9") throw new Error("a secret detail");
      return { entries: ["a"] };
    },
  };
  const { server } = await startTestServer({ authenticate, log, pages });
  onTestFinished(() => server.stop(0));
  return { url: server.url, asked, lines };
};

test.each([
  // request, authorization, status, answer
  ["GET", "/list", undefined, 401, '{"message":"A valid token is needed."}'],
  ["GET", "/list", "Bearer mallory", 401, '{"message":"A valid token is needed."}'],
  ["GET", "/list", "Bearer alice", 403, `{"message":"The token is not of an account's root."}`],
  ["GET", "/list?limit=0", "Bearer root", 400, '{"message":"limit is too small."}'],
  ["GET", "/list?limit=9", "Bearer root", 503, '{"message":"The page cannot be read now."}'],
  ["POST", "/list", "Bearer root", 404, ""],
  ["GET", "/list/", "Bearer root", 404, ""],
  ["GET", "/toString", "Bearer root", 404, ""],
] as const)("a page for operators refuses: %s %s, %s", async (method, path, authorization, status, answer) => {
  const { url, asked, lines } = await start();
  const response = await fetch(url + path, { method, ...(authorization && { headers: { authorization } }) });
  expect([response.status, (await response.text()).trim()]).toEqual([status, answer]);
  // Nobody else makes a page read anything.
  expect(asked.length).toBe(authorization === "Bearer root" && path.startsWith("/list?") ? 1 : 0);
  expect(lines.map(({ msg }) => msg)).toEqual(status === 503 ? ["a page for operators failed"] : []);
});

test("a page for operators is answered over HTTP/1.1 and HTTP/2", async () => {
  const { url, asked } = await start();
  const response = await fetch(`${url}/list?after=b%2Fc`, { headers: { authorization: "Bearer root" } });
  expect([response.headers.get("content-type"), await response.json()]).toEqual([
    "application/json",
    { entries: ["a"] },
  ]);
  const session = connect(url);
  onTestFinished(() => session.destroy());
  expect(await text(session.request({ ":path": "/list", authorization: "Bearer root" }))).toBe('{"entries":["a"]}\n');
  expect(asked).toEqual(["after=b%2Fc", ""]);
});

test("a connection that asks for pages with forged tokens is closed, and its address shut out as others that flood", async () => {
  const { url } = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: "127.0.0.2" });
  onTestFinished(() => agent.destroy());
  const ask = async (): Promise<number | undefined> => {
    const asked = request(`${url}/list`, { agent, headers: { authorization: "Bearer forged" } }).end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    answer.resume();
    await once(answer, "end");
    return answer.statusCode;
  };
  let [asked, closed] = [0, 0];
  for (; closed < 6; asked += 1) await ask().catch(() => (closed += 1));
  // 32 on each of six connections.
  expect(asked).toBe(192);
  await expect(ask()).rejects.toThrow("socket hang up");
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});
