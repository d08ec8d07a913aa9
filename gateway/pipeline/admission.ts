import { admissionHeaders } from "../../services/kit/wire/admission.ts";

/** The time after which a client that waits for `100 Continue` is asked for its body anyway. */
const unansweredMs = 1_000;

/** The service's decision to take the body of an upload whose client waits for it. */
export class Admission {
  readonly #decided = Promise.withResolvers<boolean>();
  #timer: NodeJS.Timeout | undefined;

  /** The headers that ask the service to announce its decision. */
  readonly headers: Readonly<Record<string, string>> = { [admissionHeaders.asked]: "1" };

  /** Whether the body is wanted. True also for a service that does not announce it in time. */
  isWanted(): Promise<boolean> {
    this.#timer ??= setTimeout(() => this.#decided.resolve(true), unansweredMs);
    this.#timer.unref();
    return this.#decided.promise;
  }

  /** The answer has begun: with the announcement, or with a refusal. */
  answered(header: Headers): void {
    this.#decide(header.has(admissionHeaders.announced));
  }

  /** The call has failed before its answer. */
  failed(): void {
    this.#decide(false);
  }

  #decide(isWanted: boolean): void {
    clearTimeout(this.#timer);
    this.#decided.resolve(isWanted);
  }
}
