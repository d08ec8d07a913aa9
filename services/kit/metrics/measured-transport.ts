import type { DescMethod } from "@bufbuild/protobuf";
import type { Code, Transport } from "@connectrpc/connect";
import { ConnectError } from "@connectrpc/connect";

import { WholeAnswers } from "../client/whole-answers.ts";
import type { CallObserver } from "./call-metrics.ts";

/** Reports every call to an observer. A stream lasts until its answer was read to its end, or abandoned. */
export const measuredTransport = <T extends Transport>(transport: T, observer: CallObserver): T => ({
  ...transport,
  unary: async (...call: Parameters<Transport["unary"]>) => {
    const end = begin(observer, call[0]);
    try {
      const answer = await transport.unary(...call);
      end(undefined);
      return answer;
    } catch (error) {
      end(ConnectError.from(error).code);
      throw error;
    }
  },
  stream: async (...call: Parameters<Transport["stream"]>) => {
    const end = begin(observer, call[0]);
    try {
      const answer = await transport.stream(...call);
      if (answer.message instanceof WholeAnswers) {
        end(undefined);
        return answer;
      }
      return {
        stream: true,
        service: answer.service,
        method: answer.method,
        message: watched(answer.message, end),
        // Read only when they are asked for, because they are created then.
        get header() {
          return answer.header;
        },
        get trailer() {
          return answer.trailer;
        },
      };
    } catch (error) {
      end(ConnectError.from(error).code);
      throw error;
    }
  },
});

type End = (code: Code | undefined) => void;

const begin = (observer: CallObserver, method: DescMethod): End => {
  const startedMs = performance.now();
  let isEnded = false;
  observer.started(method);
  return (code) => {
    if (isEnded) return;
    isEnded = true;
    observer.ended(method, code, performance.now() - startedMs);
  };
};

const watched = <T>(messages: AsyncIterable<T>, end: End): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => {
    const iterator = messages[Symbol.asyncIterator]();
    return {
      next: async () => {
        try {
          const next = await iterator.next();
          if (next.done === true) end(undefined);
          return next;
        } catch (error) {
          end(ConnectError.from(error).code);
          throw error;
        }
      },
      return: async () => {
        end(undefined);
        return (await iterator.return?.()) ?? { done: true, value: undefined };
      },
    };
  },
});
