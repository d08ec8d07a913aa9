import { connect } from "node:net";

import type { TestResponse } from "./signing-client.ts";

/** Sends bytes as they are and resolves with the first answer. Rejects if the connection ends without one. */
export const sendBytes = (url: string, bytes: string): Promise<TestResponse> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (piece: string) => {
      text += piece;
      const answer = parseAnswer(text);
      if (answer === undefined) return;
      resolve(answer);
      socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection ended without an answer")));
    socket.write(bytes, "latin1");
  });

/** The head of a request as bytes. */
export const headBytes = (method: string, target: string, headers: Readonly<Record<string, string>>): string =>
  `${method} ${target} HTTP/1.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;

/** Undefined: the answer has not arrived entirely. */
const parseAnswer = (text: string): TestResponse | undefined => {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [line = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((each) => [each.slice(0, each.indexOf(":")).toLowerCase(), each.slice(each.indexOf(":") + 1).trim()]),
  );
  const body = text.slice(end + 4);
  return body.length < Number(headers["content-length"])
    ? undefined
    : { status: Number(line.split(" ")[1]), headers, body };
};
