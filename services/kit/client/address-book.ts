/** One address of a service. */
export interface Endpoint<Engine> {
  readonly engine: Engine;
  /** Failures since the last answer. */
  failures: number;
  /** In milliseconds of `performance.now()`: until then other addresses are preferred. */
  avoidedUntilMs: number;
}

const avoidanceMsMin = 100;
const avoidanceMsMax = 5000;

/**
 * The addresses of one service, used in turn. One that fails is avoided for a time that grows with each consecutive
 * failure; if all have failed, the one whose time ends first is used.
 */
export class AddressBook<Engine> {
  readonly endpoints: readonly Endpoint<Engine>[];
  #next: number;

  constructor(engines: readonly Engine[]) {
    this.endpoints = engines.map((engine) => ({ engine, failures: 0, avoidedUntilMs: 0 }));
    // A random start, so that clients that start together do not all begin at one address.
    this.#next = Math.floor(Math.random() * engines.length);
  }

  /** The next address to call. */
  take(): Endpoint<Engine> {
    const { endpoints } = this;
    const nowMs = performance.now();
    let best = endpoints[this.#next % endpoints.length] as Endpoint<Engine>;
    for (let offset = 0; offset < endpoints.length && best.avoidedUntilMs > nowMs; offset += 1) {
      const candidate = endpoints[(this.#next + offset) % endpoints.length] as Endpoint<Engine>;
      if (candidate.avoidedUntilMs < best.avoidedUntilMs) best = candidate;
    }
    this.#next = (endpoints.indexOf(best) + 1) % endpoints.length;
    return best;
  }

  /** True if an address can be called at once. */
  get hasReady(): boolean {
    const nowMs = performance.now();
    return this.endpoints.some(({ avoidedUntilMs }) => avoidedUntilMs <= nowMs);
  }

  /** The address answered, even if with a refusal. */
  answered(endpoint: Endpoint<Engine>): void {
    if (endpoint.failures === 0) return;
    endpoint.failures = 0;
    endpoint.avoidedUntilMs = 0;
  }

  /** The address could not be reached, or answered that it is not available. */
  failed(endpoint: Endpoint<Engine>): void {
    const nowMs = performance.now();
    // Concurrent calls fail together and count once.
    if (endpoint.avoidedUntilMs > nowMs) return;
    endpoint.failures += 1;
    const avoidedMs = Math.min(avoidanceMsMax, avoidanceMsMin * 2 ** (endpoint.failures - 1));
    endpoint.avoidedUntilMs = nowMs + avoidedMs * (0.5 + Math.random() / 2);
  }
}
