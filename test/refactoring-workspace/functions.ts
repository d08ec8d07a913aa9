import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";

import { startBackend } from "./backend.ts";

/** A statement of a function's policy, as it was asked to be added. */
export type Statement = Readonly<Record<string, string>>;

/** An address of functions that keeps their policies. */
export interface Functions {
  readonly url: string;
  /** The requests that it received, oldest first: `GET /path?query`. */
  readonly asked: readonly string[];
  /** The headers of those requests. */
  readonly headers: readonly IncomingHttpHeaders[];
  /** Statements by the name of the function, its qualifier, and their own id: `orders:live workspace-rte-1`. */
  readonly statements: ReadonlyMap<string, Statement>;
  /** Statuses with which the next requests about policies are answered without effect. */
  readonly failures: number[];
}

const policyPath =
  /^\/2015-03-31\/functions\/(?<name>[^/]+)\/policy(?:\/(?<id>[^?]+))?(?:\?Qualifier=(?<qualifier>.+))?$/;

/** Starts an address of active functions, which answer with their name; it is closed when the test ends. */
export const startFunctions = async (): Promise<Functions> => {
  const headers: IncomingHttpHeaders[] = [];
  const statements = new Map<string, Statement>();
  const failures: number[] = [];
  const changePolicy = (method: string, key: string, body: string): [number, object] => {
    if (method === "GET") {
      const found = [...statements].filter(([each]) => each.startsWith(key));
      return [200, { Policy: JSON.stringify({ Statement: found.map(([each]) => ({ Sid: each.split(" ")[1] })) }) }];
    }
    if (method === "DELETE") return [statements.delete(key) ? 204 : 404, {}];
    const statement = JSON.parse(body) as Statement;
    const added = `${key}${statement["StatementId"]}`;
    if (statements.has(added)) return [409, { Type: "User" }];
    statements.set(added, statement);
    return [201, {}];
  };
  const { url, asked } = await startBackend("functions", async (request, response) => {
    headers.push(request.headers);
    const body = await text(request);
    const policy = policyPath.exec(request.url ?? "")?.groups;
    if (policy === undefined) {
      const answer = request.method === "GET" ? { Configuration: { State: "Active" } } : { statusCode: 200, body: "f" };
      response.end(JSON.stringify(answer));
      return;
    }
    const { name, qualifier = "", id = "" } = policy;
    const failure = failures.shift();
    const [status, answer] =
      failure === undefined ? changePolicy(request.method ?? "", `${name}:${qualifier} ${id}`, body) : [failure, {}];
    response.writeHead(status).end(status === 204 ? undefined : JSON.stringify(answer));
  });
  return { url, asked, headers, statements, failures };
};
