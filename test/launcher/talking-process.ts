import type { Serializable } from "node:child_process";

/** A process that sends its launcher all kinds of messages before it says that it is ready, and after it. */
const others: ReadonlyArray<Serializable | null> = [
  null,
  "failed",
  "ready",
  7,
  [],
  { failed: 7 },
  { ready: true },
  { ready: true, urls: { rpc: 7 } },
];

const send = (message: Serializable | null): void => {
  process.send?.(message);
};

others.forEach(send);
send({ ready: true, urls: { pid: String(process.pid) } });
[...others, { draining: "soon" }].forEach(send);
setInterval(() => undefined, 60_000);
