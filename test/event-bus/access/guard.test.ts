import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { guard } from "../../../services/event-bus/access/guard.ts";
import type { Application } from "../../../services/event-bus/application.ts";
import { handlers } from "../../../services/event-bus/service.ts";
import { anonymousCaller, rootCaller } from "../../../services/kit/identity/caller.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { startHarness } from "../harness.ts";
import { silentLogger } from "../../support/silent-logger.ts";

type Method = (typeof EventBusService.methods)[number];
type Operation = keyof typeof EventBusService.method;
type AnyHandler = (request: unknown, context: CallContext<Application>) => Promise<unknown>;

const arnScope = { partition: "aws", service: "events", region: "us-east-1" };
const shop = rootCaller("000000000000");
const othersBus = "arn:aws:events:us-east-1:111111111111:event-bus/orders";

/** An application of which only some members can be read: whatever else is read shows that a handler was reached. */
const untouchableBut = (readable: Partial<Application>) =>
  new Proxy(readable as Application, {
    get: (target, name) => {
      if (Object.hasOwn(target, name)) return Reflect.get(target, name) as unknown;
      throw new Error(`the handler was reached: it read ${String(name)}`);
    },
  });
const untouchable = untouchableBut({ arnScope });

const contextOf = (method: Method, caller = shop, revision?: string, app = untouchable) =>
  ({
    app,
    method,
    caller,
    log: silentLogger,
    requestHeader: new Headers(revision === undefined ? {} : { "x-svc-revision": revision }),
  }) as unknown as CallContext<Application>;

/** The message of the refusal of a call through the service's map of handlers. */
const refusalOf = async (
  method: Method,
  context: CallContext<Application>,
  request: Record<string, unknown> = {},
): Promise<string> => {
  const handler = (handlers as unknown as Record<string, AnyHandler>)[method.localName];
  const error = await handler?.(create(method.input, request), context).catch((thrown: unknown) => thrown);
  return (error as Error).message;
};

describe("the guard", () => {
  test("lets no caller without an account reach an operation, whether it is offered or not", async () => {
    const refusals: string[] = [];
    for (const method of EventBusService.methods)
      refusals.push(await refusalOf(method, contextOf(method, anonymousCaller)));
    expect(refusals).toEqual(
      EventBusService.methods.map(({ name }) => `The caller is not authorized to perform events:${name} on resource *`),
    );
    expect(refusals).toHaveLength(71);
  });

  test("lets no call in an unknown revision reach an operation", async () => {
    const refusals: string[] = [];
    for (const method of EventBusService.methods) refusals.push(await refusalOf(method, contextOf(method, shop, "C")));
    expect(new Set(refusals)).toEqual(new Set(["Revision C is not known; known are A and B."]));
  });

  // operation | member that names the bus
  test.each<[Operation, string]>([
    ["createArchive", "eventSourceArn"],
    ["deleteEventBus", "name"],
    ["deleteRule", "eventBusName"],
    ["describeEventBus", "name"],
    ["describeRule", "eventBusName"],
    ["disableRule", "eventBusName"],
    ["enableRule", "eventBusName"],
    ["listRuleNamesByTarget", "eventBusName"],
    ["listRules", "eventBusName"],
    ["listTargetsByRule", "eventBusName"],
    ["putPermission", "eventBusName"],
    ["putRule", "eventBusName"],
    ["putTargets", "eventBusName"],
    ["removePermission", "eventBusName"],
    ["removeTargets", "eventBusName"],
    ["updateEventBus", "name"],
  ])("%s reaches no bus of another account", async (operation, member) => {
    const { store } = await startHarness({ works: false });
    const method = EventBusService.method[operation];
    const context = contextOf(method, shop, undefined, untouchableBut({ arnScope, store }));
    expect(await refusalOf(method, context, { [member]: othersBus })).toBe(
      `The caller is not authorized to perform events:${method.name} on resource ${othersBus}`,
    );
  });

  // operation | request | the bus that the handler receives
  test.each<[Operation, Record<string, unknown>, string]>([
    ["putRule", {}, "default"],
    ["putRule", { eventBusName: "orders" }, "orders"],
    ["putRule", { eventBusName: "arn:aws:events:us-east-1:000000000000:event-bus/orders" }, "orders"],
    ["describeEventBus", { name: "arn:svc:event-bus:us-east-1:000000000000:event-bus/orders" }, "orders"],
    ["createEventBus", { name: othersBus }, "default"],
  ])("%s with %j is decided for a bus of the caller's account", async (operation, request, name) => {
    const method = EventBusService.method[operation];
    const ensured: string[] = [];
    const { store } = await startHarness({ works: false });
    const ensureDefaultBus = async (account: string): Promise<void> => void ensured.push(account);
    const app = untouchableBut({ arnScope, store, ensureDefaultBus });
    const { bus, revision } = await guard(create(method.input, request), contextOf(method, shop, undefined, app));
    expect([bus, revision.name]).toEqual([{ account: "000000000000", name }, "A"]);
    expect(ensured).toEqual(["000000000000"]);
  });
});
