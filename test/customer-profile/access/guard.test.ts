import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { CustomerProfileService } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { Application } from "../../../services/customer-profile/application.ts";
import { guard } from "../../../services/customer-profile/access/guard.ts";
import { handlers } from "../../../services/customer-profile/service.ts";
import { anonymousCaller, rootCaller } from "../../../services/kit/identity/caller.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { refusalOf, startHarness } from "../harness.ts";
import { silentLogger } from "../../support/silent-logger.ts";

type Method = (typeof CustomerProfileService.methods)[number];
type AnyHandler = (request: unknown, context: CallContext<Application>) => Promise<unknown>;

/** An application that nothing may be read from. */
const untouchable = new Proxy({} as Application, {
  get: (_target, name) => {
    throw new Error(`the handler was reached: it read ${String(name)}`);
  },
});

const contextOf = (method: Method, caller = anonymousCaller) =>
  ({ app: untouchable, method, caller, log: silentLogger }) as unknown as CallContext<Application>;

test("no operation is reached by a caller without an account, whether it is offered or not", async () => {
  const outcomes: string[] = [];
  for (const method of CustomerProfileService.methods) {
    const handler = (handlers as unknown as Record<string, AnyHandler>)[method.localName];
    const error = await handler?.(create(method.input), contextOf(method)).catch((thrown: unknown) => thrown);
    outcomes.push(`${method.name}: ${(error as Error).message}`);
  }
  expect(outcomes).toEqual(
    CustomerProfileService.methods.map(
      ({ name }) => `${name}: The caller is not authorized to perform customer-profile:${name} on *`,
    ),
  );
  expect(outcomes).toHaveLength(35);
});

test("a caller may use the data of its own account", async () => {
  const { listDomains } = CustomerProfileService.method;
  const context = contextOf(listDomains, rootCaller("111111111111"));
  expect(await guard(create(listDomains.input), context)).toEqual({ accountId: "111111111111" });
});

test.each(["tagResource", "untagResource", "listTagsForResource"] as const)(
  "%s refuses, before the operation's own checks, an ARN that is not of this service, then one of another account",
  async (operation) => {
    const { client } = await startHarness();
    const refusal = (resourceArn: string) =>
      refusalOf(client[operation]({ resourceArn, tags: { "aws:a": "1" }, tagKeys: ["a"] }));
    expect(await refusal("arn:aws:profile:us-east-1:000000000000:segments/x")).toBe(
      "RESOURCE_ARN_INVALID: arn:aws:profile:us-east-1:000000000000:segments/x is not the ARN of a domain, an object type or an integration",
    );
    const foreign = "arn:aws:profile:us-east-1:111111111111:domains/shop";
    const name = operation.charAt(0).toUpperCase() + operation.slice(1);
    expect(await refusal(foreign)).toBe(
      `ACCESS_DENIED: The caller is not authorized to perform customer-profile:${name} on ${foreign}`,
    );
  },
);
