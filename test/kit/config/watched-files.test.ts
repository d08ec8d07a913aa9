import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { openWatched } from "../../../services/kit/config/watched-files.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** The main file names another one; the value is what that holds. */
const watching = async () => {
  const directory = await temporaryDirectory();
  const main = join(directory, "main");
  const other = join(directory, "other");
  await writeFile(main, other);
  await writeFile(other, "first");
  const clock = new FakeClock();
  const notes: string[] = [];
  const open = () =>
    openWatched({
      read: (readText) => {
        const text = readText(readText(main) ?? "");
        if (text === undefined) throw new Error("nothing there");
        return text;
      },
      clock,
      onChange: (value, former) => notes.push(`${former} -> ${value}`),
      onFailure: (reason) => notes.push(reason),
    });
  return { main, other, clock, notes, open };
};

describe("what is made from files", () => {
  test("is made again within a second when a file that another names is written", async () => {
    const { other, clock, notes, open } = await watching();
    const watched = open();
    await writeFile(other, "second");
    clock.advance(999);
    expect(watched.current()).toBe("first");
    clock.advance(1);
    expect(watched.current()).toBe("second");
    expect(notes).toEqual(["first -> second"]);
  });

  test("is made again at once when that is asked for, and when a file is replaced by a rename", async () => {
    const { other, notes, open } = await watching();
    const watched = open();
    await writeFile(`${other}.new`, "third");
    await rename(`${other}.new`, other);
    watched.refresh();
    expect(watched.current()).toBe("third");
    watched.refresh();
    expect(notes).toEqual(["first -> third"]);
  });

  test("stays when it cannot be read, which is reported once, and is read when a missing file appears", async () => {
    const { other, clock, notes, open } = await watching();
    const watched = open();
    await rm(other);
    clock.advance(1_000);
    expect(watched.current()).toBe("first");
    clock.advance(1_000);
    expect(watched.current()).toBe("first");
    expect(notes).toEqual(["nothing there"]);
    await writeFile(other, "fourth");
    clock.advance(1_000);
    expect(watched.current()).toBe("fourth");
    expect(notes).toEqual(["nothing there", "first -> fourth"]);
  });

  test("stays when the system cannot look at a file, and is read when it can again", async () => {
    const { other, clock, notes, open } = await watching();
    const watched = open();
    await rm(other);
    await symlink(other, other);
    for (let seconds = 0; seconds < 2; seconds += 1) {
      clock.advance(1_000);
      expect(watched.current()).toBe("first");
    }
    expect(notes).toEqual([expect.stringContaining("ELOOP")]);
    await rm(other);
    await writeFile(other, "fifth");
    clock.advance(1_000);
    expect(watched.current()).toBe("fifth");
  });

  test("is an error at the start when it cannot be made", async () => {
    const { other, open } = await watching();
    await rm(other);
    expect(open).toThrow("nothing there");
  });
});
