import type { HarnessOptions } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";

export const acme = "111111111111";
export const sales = "aws.partner/acme/shop/sales";
/** The names of the states of a source, by their numbers. */
export const stateNames = ["", "PENDING", "ACTIVE", "DELETED"];
export const dayMs = 24 * 3_600_000;

/** An installation with a partner and a customer, who is the owner. */
export const startPartnership = async (options: HarnessOptions = {}) => {
  const harness = await startHarness({ partners: new Map([[acme, "acme"]]), ...options });
  const partner = harness.clientOf(acme);
  const share = (name = sales, account = ownerAccount) => partner.createPartnerEventSource({ name, account });
  const stateOf = async (name = sales): Promise<string | undefined> =>
    stateNames[(await harness.client.describeEventSource({ name })).state];
  const put = async (source = sales): Promise<string | undefined> => {
    const { entries } = await partner.putPartnerEvents({ entries: [{ source, detailType: "Sale", detail: "{}" }] });
    return entries[0]?.errorCode ?? entries[0]?.eventId;
  };
  return { ...harness, partner, share, stateOf, put };
};
