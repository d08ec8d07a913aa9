import type { Answering, Backend } from "../backend.ts";
import { startBackend } from "../backend.ts";
import type { Harness, HarnessOptions, Place } from "../harness.ts";
import { makeApplication, makeDefaultRoute, makeService, proxyUrlOf, startHarness } from "../harness.ts";

/** An application whose default route leads to one backend. */
export interface Proxied extends Harness {
  readonly place: Place;
  readonly backend: Backend;
  /** The application's address. */
  readonly url: string;
}

/** Starts an application in front of a backend, which answers health checks by itself. */
export const startProxied = async (listener?: Answering, options: HarnessOptions = {}): Promise<Proxied> => {
  const harness = await startHarness(options);
  const answering: Answering | undefined =
    listener &&
    ((request, response) => {
      if (request.headers["user-agent"] === "quartet-health-check") response.end();
      else listener(request, response);
    });
  const backend = await startBackend("monolith", answering);
  const place = await makeApplication(harness.client);
  await makeDefaultRoute(harness.client, place, await makeService(harness.client, place, backend.url));
  return { ...harness, place, backend, url: await proxyUrlOf(harness.client, place) };
};
