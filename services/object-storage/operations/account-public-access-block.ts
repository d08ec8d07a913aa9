/**
 * What all buckets of an account do about public access, besides what each says itself. The guard refuses callers of
 * other accounts.
 */
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { planPublicAccessBlock, publicAccessBlockMessage } from "../domain/public-access-block.ts";
import { fault } from "../faults.ts";

/** Returns the public access block of the account as it was put. Fails if none was put. */
export const getAccountPublicAccessBlock: Operation<"getAccountPublicAccessBlock"> = async (
  _request,
  { app, caller },
) => {
  const { accountId } = caller;
  const block = app.accountBlocks.find(accountId);
  if (block === undefined)
    throw fault(ErrorReason.NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION, { account_id: accountId });
  return { publicAccessBlockConfiguration: publicAccessBlockMessage(block) };
};

/**
 * Replaces the public access block of the account; a switch that is not given is turned off. It decides on the next
 * call. Repeating it changes nothing.
 */
export const putAccountPublicAccessBlock: Operation<"putAccountPublicAccessBlock"> = async (
  request,
  { app, caller },
) => {
  await app.accountBlocks.put(caller.accountId, planPublicAccessBlock(request.publicAccessBlockConfiguration));
  return {};
};

/** Deletes the public access block of the account. Repeating it succeeds. */
export const deleteAccountPublicAccessBlock: Operation<"deleteAccountPublicAccessBlock"> = async (
  _request,
  { app, caller },
) => {
  await app.accountBlocks.put(caller.accountId, undefined);
  return {};
};
