import { describe, expect, test } from "vitest";

import { SharedRoom } from "../../../services/kit/collections/shared-room.ts";

/** Takes room one by one until there is none for a part. Returns how much it was. */
const fill = (room: SharedRoom, owner: string, part: string): number => {
  let taken = 0;
  while (room.take(owner, part, 1)) taken += 1;
  return taken;
};

describe("room that owners and their parts share", () => {
  test("is used up to a half by a part that is alone", () => {
    const room = new SharedRoom(1_200);
    expect(fill(room, "alice", "photos")).toBe(600);
    expect(room.used).toBe(600);
  });

  test("is used up to two thirds by an owner with many parts", () => {
    const room = new SharedRoom(12_000);
    for (let part = 0; part < 2_000; part += 1) fill(room, "alice", `bucket ${part}`);
    expect(room.used).toBeGreaterThan(7_900);
    expect(room.used).toBeLessThanOrEqual(8_000);
  });

  test("leaves half of the rest to each new owner, and less to a new part of an owner that uses much", () => {
    const room = new SharedRoom(1_200);
    expect(fill(room, "alice", "photos")).toBe(600);
    expect(fill(room, "alice", "films")).toBe(150);
    expect(["bob", "carol", "dave"].map((owner) => fill(room, owner, "plates"))).toEqual([225, 112, 56]);
  });

  test("is used by all alike after each has given its own back some times", () => {
    const room = new SharedRoom(1_200);
    const used = new Map(["alice", "bob"].map((owner) => [owner, fill(room, owner, "photos")]));
    expect([...used.values()]).toEqual([600, 300]);
    for (let round = 0; round < 10; round += 1)
      for (const [owner, amount] of used) {
        room.give(owner, "photos", amount);
        used.set(owner, fill(room, owner, "photos"));
      }
    expect([...used.values()]).toEqual([400, 400]);
  });

  test("may be used again after it was given back", () => {
    const room = new SharedRoom(1_200);
    fill(room, "alice", "photos");
    room.give("alice", "photos", 600);
    expect([room.used, fill(room, "alice", "plates")]).toEqual([0, 600]);
  });

  test("is also used by what was there before, whether it fits or not", () => {
    const room = new SharedRoom(100);
    room.add("alice", "photos", 150);
    expect([room.take("bob", "plates", 1), room.used]).toEqual([false, 150]);
    room.give("alice", "photos", 150);
    expect(room.take("bob", "plates", 50)).toBe(true);
  });

  test("takes names apart that look alike when they are put together", () => {
    const room = new SharedRoom(1_000);
    room.add("a b", "c", 400);
    // 400 of all, and nothing of its own: 300 fit twice; with 200 of its part they would not.
    expect(room.fits("a", "b c", 300)).toBe(true);
  });
});
