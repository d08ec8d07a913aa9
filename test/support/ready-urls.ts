import type { ChildProcess } from "node:child_process";

import { asLifeMessage } from "../../services/kit/process/life-message.ts";

/** Resolves with where a process listens when it reports that it is ready; rejects if it ends before that. */
export const readyUrls = (child: ChildProcess): Promise<Readonly<Record<string, string>>> =>
  new Promise((resolve, reject) => {
    child.on("message", (sent) => {
      const message = asLifeMessage(sent);
      if (message !== undefined && "ready" in message) resolve(message.urls);
    });
    child.once("exit", () => reject(new Error("the process ended before it was ready")));
  });
