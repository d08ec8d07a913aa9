import { assertAllowed } from "../../kit/access/decide.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { resourceArn } from "../domain/resource-arn.ts";
import { rules } from "./rules.ts";

/** Decides whether the caller may create a bucket of this name in its account. Throws ACCESS_DENIED. */
export const checkCreation = (
  context: Pick<CallContext<Application>, "app" | "method" | "caller" | "log" | "audit" | "requestId">,
  name: string,
): void => {
  const resource = {
    arn: resourceArn(context.app, name),
    ownerAccountId: context.caller.accountId,
    shownAs: name,
  };
  assertAllowed(rules, context, { action: "CreateBucket", resource });
};
