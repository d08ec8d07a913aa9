import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { lockClock } from "../../../services/object-storage/store/layout.ts";
import { openLockClock } from "../../../services/object-storage/store/lock-clock.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const hourMs = 60 * 60 * 1000;
const startMs = Date.UTC(2026, 0, 2);

/** A machine whose clock can be set, and the counter that nobody can set; `pass` lets time pass for both. */
const startMachine = async () => {
  const store = await openStore({ directory: join(await temporaryDirectory(), "leveldb"), sync: false });
  onTestFinished(() => store.close());
  const clock = new FakeClock(startMs);
  let elapsed = 7;
  const pass = (ms: number) => {
    elapsed += ms;
    clock.advance(ms);
  };
  return { clock, pass, open: () => openLockClock({ store, clock, elapsedMs: () => elapsed }) };
};

describe("the clock of retentions", () => {
  test("follows the machine's clock", async () => {
    const { pass, open } = await startMachine();
    const opened = await open();
    expect(opened.now()).toBe(startMs);
    pass(hourMs);
    expect(opened.now()).toBe(startMs + hourMs);
  });

  test("stands still while the machine's clock is set back, and goes on when that has come up", async () => {
    const { clock, pass, open } = await startMachine();
    const opened = await open();
    pass(2 * hourMs);
    expect(opened.now()).toBe(startMs + 2 * hourMs);
    clock.set(startMs);
    expect(opened.now()).toBe(startMs + 2 * hourMs);
    pass(hourMs);
    expect(opened.now()).toBe(startMs + 2 * hourMs);
    pass(2 * hourMs);
    expect(opened.now()).toBe(startMs + 3 * hourMs);
  });

  test("runs 24 times as fast as time passes, and no faster, while the machine's clock is set forward", async () => {
    const { clock, pass, open } = await startMachine();
    const opened = await open();
    clock.set(startMs + 100 * 24 * hourMs);
    expect(opened.now()).toBe(startMs);
    pass(hourMs);
    expect(opened.now()).toBe(startMs + 24 * hourMs);
    clock.set(startMs + hourMs);
    pass(hourMs);
    expect(opened.now()).toBe(startMs + 24 * hourMs);
  });

  test("is the stored one after a restart, however the machine's clock was set, and comes up after a stop", async () => {
    const { clock, pass, open } = await startMachine();
    const before = await open();
    pass(3 * hourMs);
    await before.save();
    clock.set(startMs + 1000 * hourMs);
    expect((await open()).now()).toBe(startMs + 3 * hourMs);
    clock.set(startMs);
    const after = await open();
    expect(after.now()).toBe(startMs + 3 * hourMs);
    await after.save();
    clock.set(startMs + 27 * hourMs);
    const later = await open();
    pass(hourMs);
    expect(later.now()).toBe(startMs + 27 * hourMs);
    pass(hourMs);
    expect(later.now()).toBe(startMs + 29 * hourMs);
  });

  test("goes on from the machine's clock where its instant is damaged, which is logged", async () => {
    const directory = await temporaryDirectory();
    const clock = new FakeClock(startMs);
    const open = () => openStore({ directory: join(directory, "leveldb"), sync: false });
    const first = await open();
    await openLockClock({ store: first, clock, elapsedMs: () => 7 });
    await first.close();
    await damageStoredRecord(directory, lockClock, ["retentions"]);
    const store = await open();
    onTestFinished(() => store.close());
    clock.advance(hourMs);
    const { log, lines } = capturingLogger();
    expect((await openLockClock({ store, clock, elapsedMs: () => 7, log })).now()).toBe(startMs + hourMs);
    expect(lines.map(({ msg }) => msg)).toEqual([
      "the clock of retentions is damaged; it goes on from the machine's clock",
    ]);
    const stored = await store.read((reader) => reader.get(lockClock, ["retentions"]));
    expect(stored?.instantMs).toBe(BigInt(startMs + hourMs));
  });
});
