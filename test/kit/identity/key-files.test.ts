import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ensureKeyPair, keyId, readPublicKeys } from "../../../services/kit/identity/key-files.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

describe("a key pair", () => {
  test("is made once and loaded afterwards", async () => {
    const directory = join(await temporaryDirectory(), "keys");
    const made = await ensureKeyPair(directory, "gateway");
    const loaded = await ensureKeyPair(directory, "gateway");
    expect(keyId(loaded.publicKey)).toBe(keyId(made.publicKey));
    expect((await readdir(directory)).toSorted()).toEqual(["gateway.private.pem", "gateway.public.pem"]);
  });

  test("has a private half that only its owner can read", async () => {
    const directory = await temporaryDirectory();
    await ensureKeyPair(directory, "gateway");
    expect((await stat(join(directory, "gateway.private.pem"))).mode & 0o777).toBe(0o600);
  });

  test("is one pair when many start at once", async () => {
    const directory = await temporaryDirectory();
    const pairs = await Promise.all(Array.from({ length: 8 }, () => ensureKeyPair(directory, "gateway")));
    expect(new Set(pairs.map((pair) => keyId(pair.publicKey))).size).toBe(1);
    expect((await readdir(directory)).toSorted()).toEqual(["gateway.private.pem", "gateway.public.pem"]);
  });

  test("gets its public half back when that is lost", async () => {
    const directory = await temporaryDirectory();
    const { publicKey } = await ensureKeyPair(directory, "gateway");
    await writeFile(join(directory, "gateway.public.pem"), "");
    await ensureKeyPair(directory, "gateway");
    const keys = await readPublicKeys(directory);
    expect([...keys].map(([name, key]) => [name, keyId(key)])).toEqual([["gateway", keyId(publicKey)]]);
  });

  test("of the other kind has names of its own, which earlier versions do not read", async () => {
    const directory = await temporaryDirectory();
    const made = await ensureKeyPair(directory, "tokens", "ES384");
    const loaded = await ensureKeyPair(directory, "tokens", "ES384");
    expect(keyId(loaded.publicKey)).toBe(keyId(made.publicKey));
    expect((await readdir(directory)).toSorted()).toEqual(["tokens.private.p384.pem", "tokens.public.p384.pem"]);
    expect((await stat(join(directory, "tokens.private.p384.pem"))).mode & 0o777).toBe(0o600);
    expect([...(await readPublicKeys(directory)).keys()]).toEqual(["tokens"]);
  });

  test("of one kind is not read as the other", async () => {
    const directory = await temporaryDirectory();
    await ensureKeyPair(directory, "tokens", "ES384");
    await rename(join(directory, "tokens.public.p384.pem"), join(directory, "gateway.public.pem"));
    await expect(readPublicKeys(directory)).rejects.toThrow("gateway.public.pem is not an Ed25519 key");
    await rename(join(directory, "gateway.public.pem"), join(directory, "tokens.public.p384.pem"));
    await ensureKeyPair(directory, "gateway");
    await rename(join(directory, "gateway.public.pem"), join(directory, "tokens.public.p384.pem"));
    await expect(readPublicKeys(directory)).rejects.toThrow("tokens.public.p384.pem is not a P-384 key");
  });

  test.for(["", "../gateway", "Gateway", "a/b"])('is not named "%s"', async (name) => {
    await expect(ensureKeyPair(await temporaryDirectory(), name)).rejects.toThrow("is not a name for a key pair");
  });

  test("is not replaced when its file is damaged, and the error quotes nothing of it", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "gateway.private.pem");
    await writeFile(path, "precious");
    await expect(ensureKeyPair(directory, "gateway")).rejects.toThrow(`${path} is not an Ed25519 key`);
    expect(await readFile(path, "utf8")).toBe("precious");
  });
});

test("a directory that is not there has no public keys", async () => {
  expect((await readPublicKeys(join(await temporaryDirectory(), "absent"))).size).toBe(0);
});
