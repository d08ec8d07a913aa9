import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup } from "node:dns";

/** Finds all addresses of a name. */
export type LookupAll = (
  hostname: string,
  options?: Pick<LookupOptions, "family" | "hints">,
) => Promise<LookupAddress[]>;

/** Lookups of the names of one domain that run at the same time. */
const runningMax = 2;
/** Those that wait for these; further ones fail as if the name server were overloaded. */
const waitingMax = 256;

interface Domain {
  running: number;
  /** Each begins a lookup. */
  readonly waiting: (() => void)[];
}

/**
 * Looks names up so that those of one domain leave places for others. The system looks only a few up at the same time
 * (half of UV_THREADPOOL_SIZE) and gives none up before its own time is over, whatever the caller's: names of a domain
 * whose server does not answer would hold them all.
 */
export const createFairLookup = (lookupAll: LookupAll): LookupAll => {
  const domains = new Map<string, Domain>();
  const shared = new Map<string, Promise<LookupAddress[]>>();

  const inTurn = async (domainName: string, run: () => Promise<LookupAddress[]>): Promise<LookupAddress[]> => {
    const domain = domains.get(domainName) ?? { running: 0, waiting: [] };
    domains.set(domainName, domain);
    if (domain.waiting.length >= waitingMax) throw overloaded(domainName);
    // Whoever ends leaves its place to the one that waited longest.
    if (domain.running >= runningMax) await new Promise<void>((resolve) => domain.waiting.push(resolve));
    else domain.running += 1;
    try {
      return await run();
    } finally {
      const next = domain.waiting.shift();
      if (next !== undefined) next();
      else if ((domain.running -= 1) === 0) domains.delete(domainName);
    }
  };

  return (hostname, options = {}) => {
    const question = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const running = shared.get(question);
    if (running !== undefined) return running;
    const found = inTurn(domainOf(hostname), () => lookupAll(hostname, options)).finally(() => shared.delete(question));
    shared.set(question, found);
    return found;
  };
};

/** By whom a name is held, as far as its text shows: its last two labels, or three as of `shop.co.uk`. */
const domainOf = (hostname: string): string => {
  const labels = hostname.toLowerCase().replace(/\.$/, "").split(".");
  const [second = "", top = ""] = labels.slice(-2);
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join(".");
};

const overloaded = (domain: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`too many names of ${domain} are being looked up`), { code: "EAI_AGAIN" });

/** As the machine looks names up: in its hosts file, then by DNS. */
export const systemLookup = createFairLookup(
  (hostname, options) =>
    new Promise((resolve, reject) => {
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        if (error === null) resolve(addresses);
        else reject(error);
      });
    }),
);
