import { setTimeout as pause } from "node:timers/promises";

import type { DescMessage, DescMethod, DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, Transport } from "@connectrpc/connect";

import type { HeadersInput } from "../wire/headers-input.ts";
import { AddressBook } from "./address-book.ts";
import { ReplayableRequests } from "./replayable-requests.ts";
import type { RetryPolicy } from "./retry.ts";
import { isUnavailable, mayRepeat, pauseMs, RetryBudget } from "./retry.ts";
import type { ClosableTransport } from "./engine.ts";
import { PayloadRequests } from "./payload-requests.ts";
import { WholeRequests } from "./whole-requests.ts";

/** How calls are distributed and repeated. */
interface RepeatingOptions {
  readonly policy: RetryPolicy;
  /** The deadline of calls that name none. Unset: none. */
  readonly timeoutMs: number | undefined;
}

/**
 * Makes calls through several engines in turn, one for each address, and repeats them where that is harmless (see
 * `mayRepeat`), within the call's deadline. A stream is repeated only before its answer begins, and only while at most
 * its first message was read or all are known. Closing it closes the engines.
 */
export const createRepeatingTransport = (
  engines: readonly ClosableTransport[],
  { policy, timeoutMs: timeoutMsDefault }: RepeatingOptions,
): ClosableTransport => {
  const book = new AddressBook(engines);
  const budget = new RetryBudget();
  const attemptsMax = policy.attemptsMax <= 1 ? 1 : Math.max(policy.attemptsMax, engines.length);

  /** Makes one call; each attempt gets an engine and the remaining time. */
  const call = async <T>(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    attempt: (engine: Transport, leftMs: number | undefined) => Promise<T>,
    canRepeat: () => boolean,
  ): Promise<T> => {
    const deadlineMs = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
    for (let made = 1; ; made += 1) {
      const endpoint = book.take();
      try {
        const leftMs = made === 1 ? timeoutMs : left(deadlineMs);
        const answer = await attempt(endpoint.engine, leftMs);
        book.answered(endpoint);
        budget.earn();
        return answer;
      } catch (error) {
        if (isUnavailable(error)) book.failed(endpoint);
        else book.answered(endpoint);
        if (made >= attemptsMax || signal?.aborted === true || !mayRepeat(method, error) || !canRepeat()) throw error;
        const waitMs = book.hasReady ? 0 : pauseMs(policy, made);
        if (performance.now() + waitMs >= deadlineMs || !budget.spend()) throw error;
        // A signal ends the pause early; the next attempt then fails with its reason.
        if (waitMs > 0) await pause(waitMs, undefined, { signal }).catch(() => {});
      }
    }
  };

  /** Makes one call whose requests are read while they are sent. */
  const replay = async <I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInput | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    values: ContextValues | undefined,
  ): Promise<StreamResponse<I, O>> => {
    const payload = input instanceof PayloadRequests ? (input as PayloadRequests<MessageInitShape<I>>) : undefined;
    const requests = new ReplayableRequests<unknown>(payload?.payload.pieces ?? input);
    try {
      return await call(
        method,
        signal,
        timeoutMs,
        async (engine, leftMs) => {
          const attempt = requests.attempt();
          const sent =
            payload?.withPieces(attempt.requests as AsyncIterable<Uint8Array>) ??
            (attempt.requests as AsyncIterable<MessageInitShape<I>>);
          const answer = await engine.stream(method, signal, leftMs, header, sent, values);
          attempt.commit();
          return answer;
        },
        () => requests.isReplayable,
      );
    } catch (error) {
      requests.close();
      throw error;
    }
  };

  return {
    unary: (method, signal, timeoutMs = timeoutMsDefault, header, input, values) =>
      call(
        method,
        signal,
        timeoutMs,
        (engine, leftMs) => engine.unary(method, signal, leftMs, header, input, values),
        always,
      ),
    stream: (method, signal, timeoutMs = timeoutMsDefault, header, input, values) =>
      input instanceof WholeRequests
        ? call(
            method,
            signal,
            timeoutMs,
            (engine, leftMs) => engine.stream(method, signal, leftMs, header, input, values),
            always,
          )
        : replay(method, signal, timeoutMs, header, input, values),
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()));
    },
  };
};

const always = (): boolean => true;

const left = (deadlineMs: number): number | undefined =>
  deadlineMs === Infinity ? undefined : Math.max(0, deadlineMs - performance.now());
