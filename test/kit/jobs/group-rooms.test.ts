import { expect, test } from "vitest";

import { GroupRooms } from "../../../services/kit/jobs/group-rooms.ts";
import { jobHarness, payload, started } from "./job-harness.ts";

/** Rooms of a pool with twelve places, of which groups hold some. */
const roomsWith = (held: Readonly<Record<string, number>>, sharesPlaces = true): GroupRooms =>
  new GroupRooms(
    new Map([["calls", { concurrency: 12, concurrencyPerOwner: 12, sharesPlaces }]]),
    {
      countIn: () => Object.values(held).reduce((sum, count) => sum + count, 0),
      countOfGroup: (_pool, group) => held[group] ?? 0,
    },
    { groupsOf: () => ["a", "b", "c"] },
  );

// what the groups hold, what each of three may start
test.each([
  [{}, [8, 8, 8]],
  [{ a: 4 }, [4, 5, 5]],
  [{ a: 7 }, [1, 3, 3]],
  [{ a: 8 }, [0, 2, 2]],
  [{ a: 8, b: 2 }, [0, 0, 1]],
  [{ a: 8, b: 3 }, [0, 0, 1]],
  [{ a: 8, b: 3, c: 1 }, [0, 0, 0]],
  [{ a: 6, b: 6 }, [0, 0, 0]],
])("of twelve places, where groups hold %j, three may start %j", (held, wanted) => {
  const rooms = roomsWith(held);
  expect(["a", "b", "c"].map((group) => rooms.roomOf("calls", group))).toEqual(wanted);
  expect(rooms.hasAny("calls")).toBe(wanted.some((count) => count > 0));
});

test("what has begun since counts as well", () => {
  expect(roomsWith({ a: 4 }).roomOf("calls", "a", 3, 3)).toBe(1);
  expect(roomsWith({ a: 4 }).roomOf("calls", "b", 3, 0)).toBe(3);
});

test("in a pool whose groups do not share its places, each may start all", () => {
  expect(roomsWith({ a: 8 }, false).roomOf("calls", "a")).toBe(4);
  expect(roomsWith({ a: 12 }, false).hasAny("calls")).toBe(false);
});

const placeOf = (owner: string) => ({ pool: "calls", group: owner.split("/")[0] ?? "" });
const pools = { calls: { concurrency: 12, concurrencyPerOwner: 4, sharesPlaces: true } };
const jobsOf = (owner: string, count: number) =>
  Array.from({ length: count }, (_none, n) => ({ kind: "held", owner, payload, id: `${owner}-${n}` }));
const ownersOf = (held: readonly { readonly job: { readonly owner: string } }[]): string =>
  held
    .map(({ job }) => job.owner)
    .toSorted()
    .join(" ");

// whether the jobs wait in the store before the start, or are handed over right after their commit
test.each([[true], [false]])("jobs of another group begin while none of many owners' ends (%s)", async (isStored) => {
  const { jobs, held, enqueue } = await jobHarness({ pools, placeOf });
  if (!isStored) jobs.start();
  for (const owner of ["a/1", "a/2", "a/3", "a/4", "a/5"]) await enqueue(...jobsOf(owner, 6));
  if (isStored) jobs.start();
  await started(held, 8);
  await enqueue(...jobsOf("b/1", 1));
  await started(held, 9);
  await enqueue(...jobsOf("c/1", 1));
  await started(held, 10);
  expect(ownersOf(held.slice(8))).toBe("b/1 c/1");
  // Places that become free go to who holds fewer, and in the end all jobs have run.
  for (let count = 0; count < held.length; count += 1) {
    held[count]?.end({ done: true });
    if (held.length < 32) await started(held, count + 2);
  }
  expect(held).toHaveLength(32);
});
