import { fork } from "node:child_process";
import { join } from "node:path";

/** A process that plays one side of a measurement. */
export interface Peer {
  /** Asks the process for something and waits for its answer. */
  ask<Answer>(question: PeerQuestion): Promise<Answer>;
  stop(): void;
}

/**
 * `start`: begin to serve, the answer is the address. `run`: make calls, at most so many. `cpu`: microseconds of CPU
 * used so far.
 */
export type PeerQuestion =
  | { readonly ask: "start" }
  | { readonly ask: "run"; readonly address: string; readonly ms: number; readonly callsMax?: number | undefined }
  | { readonly ask: "cpu" };

/** Starts `peers/<script>.ts` as a process of its own, with one word that says which of its parts to play. */
export const startPeer = (script: string, role: string, execArgv: readonly string[] = []): Peer => {
  const child = fork(join(import.meta.dirname, `${script}.ts`), [role], { execArgv: [...execArgv] });
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        const settle = (run: () => void): void => {
          child.off("message", answered);
          child.off("exit", ended);
          run();
        };
        const answered = (answer: unknown): void => settle(() => resolve(answer as never));
        const ended = (): void => settle(() => reject(new Error(`the ${script} process "${role}" ended`)));
        child.on("message", answered);
        child.on("exit", ended);
        child.send(question);
      }),
    stop: () => {
      if (child.connected) child.disconnect();
    },
  };
};

/** The other end of `startPeer`: answers the questions of the parent process. */
export const playPeer = (parts: {
  start?(): Promise<string>;
  run?(address: string, ms: number, callsMax?: number): Promise<unknown>;
}): void => {
  // Leaving by itself, a process that is profiled still writes its profile.
  process.on("disconnect", () => process.exit(0));
  process.on("message", (question: PeerQuestion) => {
    const answer = async (): Promise<unknown> => {
      if (question.ask === "start") return parts.start?.();
      if (question.ask === "run") return parts.run?.(question.address, question.ms, question.callsMax);
      const { user, system } = process.cpuUsage();
      return user + system;
    };
    void answer().then((value) => process.send?.(value));
  });
};
