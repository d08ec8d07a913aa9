import { expect, onTestFinished, test } from "vitest";

import { otherRegions } from "../../../services/object-storage/regions/other-regions.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const openRegions = async () => {
  let status = 404;
  const receiver = await startHttpReceiver(() => ({ status }));
  const clock = new FakeClock();
  const north = { url: receiver.url, region: "north", accessKeyId: "", secretAccessKey: "" };
  const regions = otherRegions({ endpoints: { north }, clock, log: silentLogger });
  onTestFinished(async () => {
    await regions.close();
    await receiver.close();
  });
  const create = (): void => {
    status = 200;
  };
  return { clock, regions, create, place: { region: "north", endpoint: receiver.url } };
};

test("an answer of another region counts for ten seconds", async () => {
  const { clock, regions, create, place } = await openRegions();
  expect(await regions.find("photos")).toBe(undefined);
  create();
  clock.advance(9_999);
  expect(await regions.find("photos")).toBe(undefined);
  clock.advance(1);
  expect(await regions.find("photos")).toEqual(place);
});

test("an answer of another region does not count until a clock that was set back comes there again", async () => {
  const { clock, regions, create, place } = await openRegions();
  expect(await regions.find("photos")).toBe(undefined);
  create();
  clock.setBack(3_600_000);
  expect(await regions.find("photos")).toEqual(place);
});
