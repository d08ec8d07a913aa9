import type { Store } from "../../kit/store/store.ts";
import { healthCheckUrl } from "../domain/global-endpoint.ts";
import { listHealthChecks } from "../store/global-endpoint.ts";
import type { HttpSender } from "../../kit/outgoing/http-sender.ts";

/** The answers in a row after which a health check changes its state. */
const answersMin = 2;

/** The state of one health check. */
interface Health {
  readonly isHealthy: boolean;
  /** The last answers in a row that contradict the state. */
  readonly contrary: number;
}

const unchecked: Health = { isHealthy: true, contrary: 0 };

/** The health checks of global endpoints: URLs that are requested again and again, healthy while they answer 2xx. */
export class HealthChecks {
  readonly #urls: ReadonlyMap<string, string>;
  readonly #sender: HttpSender;
  readonly #states = new Map<string, Health>();
  /** The ends of the requests that are on their way. */
  readonly #running = new Map<string, Promise<void>>();

  /** `urls` are those of the checks that are named by an id. */
  constructor(urls: ReadonlyMap<string, string>, sender: HttpSender) {
    this.#urls = urls;
    this.#sender = sender;
  }

  has(healthCheck: string): boolean {
    return healthCheckUrl(healthCheck, this.#urls) !== undefined;
  }

  /** False after two failures in a row, until two successes in a row. */
  isHealthy(healthCheck: string): boolean {
    return (this.#states.get(healthCheck) ?? unchecked).isHealthy;
  }

  /**
   * Begins a request of every health check of an endpoint, but for those whose last one has not ended: an address that
   * does not answer holds up the checks of no other.
   */
  async checkAll(store: Pick<Store, "read">, signal: AbortSignal): Promise<void> {
    const checks = await store.read(listHealthChecks);
    for (const known of this.#states.keys()) if (!checks.has(known)) this.#states.delete(known);
    for (const check of checks) {
      if (this.#running.has(check)) continue;
      const ended = this.#check(check, signal).finally(() => this.#running.delete(check));
      this.#running.set(check, ended);
    }
  }

  /** Resolves when no request is on its way. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #check(check: string, signal: AbortSignal): Promise<void> {
    const isWell = await this.#answersWell(check, signal);
    const before = this.#states.get(check) ?? unchecked;
    const contrary = isWell === before.isHealthy ? 0 : before.contrary + 1;
    this.#states.set(check, contrary < answersMin ? { ...before, contrary } : { isHealthy: isWell, contrary: 0 });
  }

  async #answersWell(check: string, signal: AbortSignal): Promise<boolean> {
    const url = healthCheckUrl(check, this.#urls);
    if (url === undefined) return false;
    try {
      const outgoing = { method: "GET", url: new URL(url), headers: {}, body: undefined } as const;
      const { status } = await this.#sender.send(outgoing, signal);
      return status >= 200 && status < 300;
    } catch {
      return false;
    }
  }
}
