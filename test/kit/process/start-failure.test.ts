import { createServer } from "node:net";
import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { ConfigError } from "../../../services/kit/config/config-error.ts";
import { StoreFullError } from "../../../services/kit/store/errors.ts";
import { startFailure } from "../../../services/kit/process/start-failure.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const system = (members: object): Error => Object.assign(new Error("refused"), members);

// error, sentence
test.each([
  [
    system({ code: "EADDRINUSE", syscall: "listen", address: "127.0.0.1", port: 8080 }),
    "127.0.0.1:8080 is in use by another program: choose another address; --help lists the settings",
  ],
  [
    system({ code: "EADDRNOTAVAIL", syscall: "listen", address: "2001:db8::1", port: 8080 }),
    "[2001:db8::1]:8080 is not an address of this machine: choose another address; --help lists the settings",
  ],
  [
    system({ code: "EACCES", syscall: "listen", address: "127.0.0.1", port: 80 }),
    "127.0.0.1:80 may not be listened on by this user: choose a port from 1024 on; --help lists the settings",
  ],
  [
    system({ code: "EACCES", syscall: "mkdir", path: "/data" }),
    "/data may not be used by this user; change its owner or mode, or set another dataDir",
  ],
  [
    system({ code: "EROFS", syscall: "open", path: "/data" }),
    "/data is on a file system that is mounted read-only; set another dataDir",
  ],
  [
    new Error("failed", { cause: system({ code: "ENOSPC", syscall: "open", path: "/data/x" }) }),
    "/data/x cannot be written because the disk is full; make room, or set another dataDir",
  ],
  [
    new StoreFullError("the disk has too little room for this change"),
    "the disk has too little room for this change; make room, or set another dataDir",
  ],
  [new ConfigError("region must be a text"), "region must be a text"],
  [new TypeError("x is not a function"), undefined],
  ["a text", undefined],
])("%s is %j", (error, sentence) => expect(startFailure(error)).toBe(sentence));

test("a database that another process holds is named as such", async () => {
  const directory = await temporaryDirectory();
  const holder = new Level(directory);
  await holder.open();
  onTestFinished(() => holder.close());
  const second: unknown = await new Level(directory).open().catch((error: unknown) => error);
  expect(startFailure(second)).toBe("its database is in use by another process; stop that one, or set another dataDir");
});

test("an address that a server holds is named as such", async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void holder.close());
  const { port } = holder.address() as { port: number };
  const error = await new Promise((resolve) => createServer().once("error", resolve).listen(port, "127.0.0.1"));
  expect(startFailure(error)).toBe(
    `127.0.0.1:${port} is in use by another program: choose another address; --help lists the settings`,
  );
});
