import { describe, expect, test } from "vitest";

import { ownerAccount, refusalOf } from "../harness.ts";
import { acme, sales, startPartnership } from "./partnership.ts";

describe("the operations for partners", () => {
  test("describe and list the partner's sources, each once, page by page", async () => {
    const { partner, share } = await startPartnership();
    for (const name of ["a", "b", "c"]) await share(`aws.partner/acme/shop/${name}`);
    await share("aws.partner/acme/shop/a", "222222222222");
    expect(await partner.describePartnerEventSource({ name: "aws.partner/acme/shop/a" })).toMatchObject({
      arn: "arn:aws:events:us-east-1::event-source/aws.partner/acme/shop/a",
      name: "aws.partner/acme/shop/a",
    });
    const first = await partner.listPartnerEventSources({ namePrefix: "aws.partner/acme/shop", limit: 2 });
    const { nextToken } = first;
    const second = await partner.listPartnerEventSources({ namePrefix: "aws.partner/acme/shop", limit: 2, nextToken });
    expect([...first.partnerEventSources, ...second.partnerEventSources].map(({ name }) => name.at(-1))).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect((await partner.listPartnerEventSources({ namePrefix: "aws.partner/other" })).partnerEventSources).toEqual(
      [],
    );
  });

  test("are refused to all others, and for sources of other partners", async () => {
    const { client, partner } = await startPartnership();
    const name = sales;
    const notOne = (operation: string): string =>
      `PARTNER_ONLY: ${operation} is for partners, and account ${ownerAccount} is not declared as one.`;
    const entries = [{ source: sales, detailType: "Sale", detail: "{}" }];
    expect(await refusalOf(client.createPartnerEventSource({ name, account: acme }))).toBe(
      notOne("CreatePartnerEventSource"),
    );
    expect(await refusalOf(client.deletePartnerEventSource({ name, account: acme }))).toBe(
      notOne("DeletePartnerEventSource"),
    );
    expect(await refusalOf(client.describePartnerEventSource({ name }))).toBe(notOne("DescribePartnerEventSource"));
    expect(await refusalOf(client.listPartnerEventSources({ namePrefix: "aws.partner/" }))).toBe(
      notOne("ListPartnerEventSources"),
    );
    expect(await refusalOf(client.listPartnerEventSourceAccounts({ eventSourceName: name }))).toBe(
      notOne("ListPartnerEventSourceAccounts"),
    );
    expect(await refusalOf(client.putPartnerEvents({ entries }))).toBe(notOne("PutPartnerEvents"));
    expect(
      await refusalOf(partner.createPartnerEventSource({ name: "aws.partner/other/x", account: ownerAccount })),
    ).toBe("PARAMETER_REFUSED: Parameter Name is not valid. Reason: Name must begin with aws.partner/acme/.");
    expect(await refusalOf(partner.describePartnerEventSource({ name }))).toBe(
      `EVENT_SOURCE_NOT_FOUND: Event source ${sales} does not exist.`,
    );
  });

  test("answer each event in its place, with an id or an error", async () => {
    const { partner, share } = await startPartnership();
    await share();
    const event = { source: sales, detailType: "Sale", detail: "{}" };
    const { entries, failedEntryCount } = await partner.putPartnerEvents({
      entries: [
        event,
        { ...event, detail: "[]" },
        { ...event, source: "aws.partner/other/x" },
        { ...event, source: `${sales}2` },
      ],
    });
    expect(failedEntryCount).toBe(3);
    expect(entries.map(({ eventId, errorCode }) => errorCode ?? typeof eventId)).toEqual([
      "string",
      "MalformedDetail",
      "NotAuthorizedForSourceException",
      "NotAuthorizedForSourceException",
    ]);
  });
});
