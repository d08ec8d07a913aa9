import { setImmediate as turn } from "node:timers/promises";

import { expect, test } from "vitest";

import { HealthChecks } from "../../../services/event-bus/delivery/health-checks.ts";
import type { HttpSender } from "../../../services/kit/outgoing/http-sender.ts";
import type { Store } from "../../../services/kit/store/store.ts";

const [hanging, quick] = ["http://192.0.2.1/hangs", "http://192.0.2.2/answers"];

test("an address that does not answer is asked once at a time, and holds up the checks of no other", async () => {
  const asked: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const send = async ({ url }: { readonly url: URL }) => {
    asked.push(url.href);
    if (url.href === hanging) await ended;
    return { status: url.href === hanging ? 200 : 503 };
  };
  const health = new HealthChecks(new Map(), { send } as unknown as HttpSender);
  const store = { read: () => Promise.resolve(new Set([hanging, quick])) } as unknown as Pick<Store, "read">;
  const checkAll = () => health.checkAll(store, new AbortController().signal);
  await checkAll();
  await turn();
  await checkAll();
  await expect.poll(() => health.isHealthy(quick)).toBe(false);
  expect(asked).toEqual([hanging, quick, quick]);
  end();
  await health.idle();
  await checkAll();
  await health.idle();
  expect(asked).toEqual([hanging, quick, quick, hanging, quick]);
});
