/*
 * Goal: what passes shares memory with nothing else. The gateway and object storage free what they have received of an
 * upload as soon as it was sent on, digested and stored, so many different uploads at once are read again and compared,
 * byte by byte, beside others that end in the middle. Contents of 1 MiB and more have connections of their own.
 */
import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";

import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { expect, onTestFinished, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const mebibyte = 1024 * 1024;
const uploads = rounds(16, 200);

/** Sends the head and a part of an upload, and closes the connection. */
const sendPart = async (url: string, content: Buffer): Promise<void> => {
  const { hostname, port, host, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const head = `PUT ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${content.length}\r\n\r\n`;
  socket.write(head);
  socket.write(content.subarray(0, content.length / 2), () => socket.destroy());
  await closed;
};

test.each([
  // how the content is sent
  "whole, with its hash",
  "in chunks, with a checksum after them",
  "whole, without a signature of it",
])(
  "uploads at the same time are stored as they were sent: %s",
  async (how) => {
    const system = await startSystem(await temporaryDirectory(), "error");
    onTestFinished(() => system.stop());
    const { objectStorage } = system.clients;
    await objectStorage.send(new CreateBucketCommand({ Bucket: "films" }));
    const store = async (number: number): Promise<boolean> => {
      const film = { Bucket: "films", Key: `film-${number}` };
      const content = randomBytes(mebibyte + number * 100_003);
      const url = await getSignedUrl(objectStorage, new PutObjectCommand(film));
      if (number % 4 === 3) {
        await sendPart(url, content);
        return true;
      }
      if (how === "whole, without a signature of it") await fetch(url, { method: "PUT", body: content });
      else {
        const hash = how === "whole, with its hash" ? createHash("sha256").update(content).digest("base64") : undefined;
        await objectStorage.send(new PutObjectCommand({ ...film, Body: content, ChecksumSHA256: hash }));
      }
      const { Body } = await objectStorage.send(new GetObjectCommand(film));
      return content.equals((await Body?.transformToByteArray()) ?? Buffer.alloc(0));
    };
    const outcomes = await Promise.all(Array.from({ length: uploads }, (_none, number) => store(number)));
    expect(outcomes).toEqual(Array.from({ length: uploads }, () => true));
  },
  rounds(120_000, 600_000),
);
