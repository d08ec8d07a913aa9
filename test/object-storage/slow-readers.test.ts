/*
 * Goal: what passes shares memory with nothing else. Object storage and the gateway read and decrypt into memory that
 * is used again for others, so many readers of different speeds, over HTTP and HTTPS, compare every byte, while others
 * leave in the middle.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:http";
import { Agent as SecureAgent, request as requestSecurely } from "node:https";
import { setImmediate } from "node:timers/promises";

import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { expect, test } from "vitest";

import { createAuthority } from "../support/certificates.ts";
import { rounds } from "../support/rounds.ts";
import type { SystemOptions } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const mebibyte = 1024 * 1024;
const readers = rounds(48, 500);
const contents = [3 * mebibyte + 17, 5 * mebibyte, 200_000].map((bytes) => randomBytes(bytes));

/** How a gateway with a certificate is started and reached. */
const secured = async (directory: string): Promise<SystemOptions> => {
  const authority = await createAuthority(directory);
  const { certificate, key } = await authority.certify("gateway");
  return {
    configuration: { gateway: { certificate, certificateKey: key } },
    authority: await readFile(authority.file, "utf8"),
  };
};

/** Sends a signed request on a connection of its own; `ca` certifies who answers by HTTPS. */
const send = (
  url: string,
  ca: string | undefined,
  { range, body }: { readonly range?: string | undefined; readonly body?: Buffer } = {},
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const options = {
      method: body === undefined ? "GET" : "PUT",
      agent: ca === undefined ? new Agent() : new SecureAgent({ ca }),
      headers: range === undefined ? {} : { range },
    };
    const sending = ca === undefined ? request(url, options, resolve) : requestSecurely(url, options, resolve);
    sending.on("error", reject).end(body);
  });

/** Reads an answer with so many turns of the event loop between its pieces; of one that is left, a part. */
const readAt = async (answer: IncomingMessage, turns: number, isLeft: boolean): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for await (const piece of answer) {
    pieces.push(piece as Buffer);
    if (isLeft && pieces.length === 3) break;
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
  }
  return Buffer.concat(pieces);
};

test.each(["http", "https"])(
  "readers of any speed get their own bytes, also beside others that leave (%s)",
  async (scheme) => {
    const directory = await temporaryDirectory();
    const options = scheme === "https" ? await secured(directory) : {};
    const system = await startSystem(directory, "error", options);
    try {
      const { objectStorage } = system.clients;
      await objectStorage.send(new CreateBucketCommand({ Bucket: "films" }));
      const urls: string[] = [];
      for (const [number, body] of contents.entries()) {
        const film = { Bucket: "films", Key: `film-${number}` };
        const url = await getSignedUrl(objectStorage, new PutObjectCommand(film));
        const stored = await send(url, options.authority, { body });
        expect(stored.resume().statusCode).toBe(200);
        urls.push(await getSignedUrl(objectStorage, new GetObjectCommand(film)));
      }
      const read = async (reader: number): Promise<boolean> => {
        const number = reader % contents.length;
        const content = contents[number]!;
        const begin = reader % 5 === 0 ? reader * 1_001 : 0;
        const range = begin === 0 ? undefined : `bytes=${begin}-`;
        const isLeft = reader % 4 === 1;
        const answer = await send(urls[number]!, options.authority, { range });
        const bytes = await readAt(answer, (reader % 7) * 3, isLeft);
        const expected = content.subarray(begin);
        return bytes.equals(isLeft ? expected.subarray(0, bytes.length) : expected);
      };
      for (let round = 0; round < 2; round += 1) {
        const outcomes = await Promise.all(Array.from({ length: readers }, (_none, reader) => read(reader)));
        expect(outcomes).toEqual(Array.from({ length: readers }, () => true));
      }
    } finally {
      await system.stop();
    }
  },
  rounds(120_000, 600_000),
);
