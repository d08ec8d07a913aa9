import { Response } from "undici";
import { describe, expect, test } from "vitest";

import { boundaryOf, readFormParts } from "../../../gateway/forms/multipart-reader.ts";
import { rounds } from "../../support/rounds.ts";
import type { Random } from "../fuzz/random.ts";
import { randomFrom } from "../fuzz/random.ts";
import { reasonOf, refused } from "../support/refused.ts";

interface Part {
  readonly name: string;
  readonly fileName: string | undefined;
  /** One character for each byte. */
  readonly content: string;
}

const boundary = "X-boundary-0123";
const contentType = `multipart/form-data; boundary=${boundary}`;

/** Splits bytes into pieces at random, as they could arrive. */
async function* arriving(body: Buffer, random: Random): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length;) {
    const size = 1 + random.below(random.one([1, 7, 40, 4_000]));
    yield body.subarray(at, at + size);
    at += size;
  }
}

const readAll = async (body: Buffer, random: Random): Promise<Part[]> => {
  const parts: Part[] = [];
  for await (const { name, fileName, content } of readFormParts(arriving(body, random), boundary))
    parts.push({ name, fileName, content: Buffer.concat(await Array.fromAsync(content)).toString("latin1") });
  return parts;
};

/** The parts as undici reads them, which holds the whole body. Rejects where it refuses the body. */
const readByLibrary = async (body: Buffer): Promise<Part[]> => {
  const form = await new Response(body, { headers: { "content-type": contentType } }).formData();
  const read = [...form].map(async ([name, value]): Promise<Part> => {
    if (typeof value === "string") return { name, fileName: undefined, content: latin1(value) };
    return { name, fileName: value.name, content: Buffer.from(await value.arrayBuffer()).toString("latin1") };
  });
  return Promise.all(read);
};

const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

const names = ["key", "policy", "x-amz-meta-a", "Content-Type", "a;b", "a=b", "naïve", "名前", "a%22b", "'", "name"];
const fileNames = [undefined, undefined, "", "cat.jpg", "a; name=key", "C:\\photos\\cat.jpg", "a%22b%0D%0A.txt", "été"];

/** Text of bytes that look like the end of a part, but are not. */
const contentOf = (random: Random, isFile: boolean): string => {
  const pieces = ["\r\n", "\r", "\n", "-", "--", `\r\n--${boundary.slice(0, -1)}`, "\r\n--X", "meow", " ", "é", "名"];
  // None of them may complete a boundary.
  const bytes = String.fromCharCode(128 + random.below(128), 0, 255, 128 + random.below(128));
  const count = random.below(random.one([1, 4, 30]));
  const text = Array.from({ length: count }, () => latin1(random.one(pieces))).join("");
  return isFile && random.chance(50) ? text + bytes : text;
};

const headOf = (random: Random, name: string, fileName: string | undefined): string => {
  const parameters = [`name="${name}"`, ...(fileName === undefined ? [] : [`filename="${fileName}"`])];
  const ordered = random.chance(30) ? parameters.toReversed() : parameters;
  const disposition = random.one(["Content-Disposition", "content-disposition", "CONTENT-DISPOSITION"]);
  const lines = [`${disposition}: form-data; ${ordered.join(random.one(["; ", ";"]))}`];
  if (random.chance(40))
    lines.push(random.one(["Content-Type: text/plain", "X-Other: name=evil", "Content-Length: 4"]));
  return (random.chance(30) ? lines.toReversed() : lines).join("\r\n");
};

const bodyOf = (random: Random): Buffer => {
  const parts = Array.from({ length: random.below(6) }, () => {
    const fileName = random.one(fileNames);
    const head = headOf(random, random.one(names), fileName);
    return `--${boundary}\r\n${latin1(head)}\r\n\r\n${contentOf(random, fileName !== undefined)}\r\n`;
  });
  const end = random.one([`--${boundary}--`, `--${boundary}--\r\n`, `--${boundary}--\r\nan epilogue`]);
  return Buffer.from((random.chance(20) ? "a preamble\r\n" : "") + parts.join("") + end, "latin1");
};

const lowered = (parts: readonly Part[]): Part[] => parts.map((part) => ({ ...part, name: part.name.toLowerCase() }));

describe("readFormParts", () => {
  test("reads generated forms as undici does, however they arrive", async () => {
    for (let seed = 1; seed <= rounds(300, 10_000); seed += 1) {
      const random = randomFrom(seed);
      const body = bodyOf(random);
      const parts = await readAll(body, random);
      expect({ seed, parts }).toEqual({ seed, parts: lowered(await readByLibrary(body)) });
    }
  });

  test("refuses generated forms that are cut where undici refuses them", async () => {
    for (let seed = 1; seed <= rounds(300, 10_000); seed += 1) {
      const random = randomFrom(seed);
      const whole = bodyOf(random);
      const cut = whole.subarray(0, random.chance(50) ? random.below(whole.length) : whole.length - random.below(14));
      const expected = await readByLibrary(cut).then(lowered, () => "MALFORMED_FORM");
      const outcome = await readAll(cut, random).catch(reasonOf);
      expect({ seed, outcome }).toEqual({ seed, outcome: expected });
    }
  });

  test.each([
    // what is wrong, body
    ["nothing", ""],
    ["another boundary", `--Y\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--Y--`],
    ["a part without a disposition", `--${boundary}\r\nContent-Type: text/plain\r\n\r\n1\r\n--${boundary}--`],
    [
      "a part without a name",
      `--${boundary}\r\nContent-Disposition: form-data; filename="a"\r\n\r\n1\r\n--${boundary}--`,
    ],
    ["a head without an end", `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n${"x".repeat(9_000)}`],
  ])("refuses %s", async (_what, body) => {
    await expect(readAll(Buffer.from(body), randomFrom(1))).rejects.toEqual(refused("MALFORMED_FORM"));
  });

  test("reads the next part only when it is asked for, and holds no more than a piece", async () => {
    const piece = Buffer.alloc(65_536, "x");
    let sent = 0;
    const source = (async function* () {
      yield Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`);
      for (; sent < 1_000; sent += 1) yield piece;
      yield Buffer.from(`\r\n--${boundary}--`);
    })();
    const { value: part } = await readFormParts(source, boundary).next();
    const first = await (part as { content: AsyncIterable<Uint8Array> }).content[Symbol.asyncIterator]().next();
    expect((first.value as Uint8Array).length).toBeLessThanOrEqual(piece.length);
    expect(sent).toBeLessThanOrEqual(1);
  });
});

describe("boundaryOf", () => {
  test.each([
    // content type, boundary
    ["multipart/form-data; boundary=abc", "abc"],
    ['Multipart/Form-Data;charset=utf-8; boundary="a b;c"', "a b;c"],
    ["multipart/form-data", undefined],
    ["multipart/mixed; boundary=abc", undefined],
    [`multipart/form-data; boundary=${"x".repeat(71)}`, undefined],
    [undefined, undefined],
  ])("of %s is %s", (type, expected) => {
    expect(boundaryOf(type)).toBe(expected);
  });
});
