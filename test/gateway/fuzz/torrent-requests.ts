import { createHmac } from "node:crypto";

import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import type { Key } from "./framing.ts";
import { canonicalHead, frameRequest, hash, queryText, signingKeyOf } from "./framing.ts";
import { mutateBytes, oddHeaders } from "./mutation.ts";
import type { Random } from "./random.ts";
import type { Draft } from "./request-grammar.ts";

/** A request of a torrent. */
export interface TorrentRequest {
  readonly bytes: Buffer;
  /** Whether its answer has no body. */
  readonly isHead: boolean;
  /** False: where it ends may have been changed, so nothing can follow it. */
  readonly isWhole: boolean;
}

/** A request from which others are made at little cost. */
interface Template {
  readonly isHead: boolean;
  /** As clients frame it, in all ways, signed where it is signed. */
  readonly framed: Buffer;
  readonly isFramedWhole: boolean;
  /** The same, signed for another body, with further headers that are not signed. */
  sign(body: Buffer, unsigned: readonly (readonly [string, string])[]): Buffer;
  readonly body: Buffer;
}

const templatesMax = 2_000;
/** How many requests are made for each new template. */
const requestsPerTemplate = 40;
const bodyBytesMax = 2_000;

/**
 * Requests at some ten microseconds each: drawn from a pool of templates that is renewed all the time, sent as they
 * are, signed again for a changed body or with odd headers, or changed in their head or anywhere.
 */
export class TorrentRequests {
  readonly #templates: Template[] = [];
  readonly #random: Random;
  readonly #draw: () => Draft;
  readonly #host: string;
  readonly #key: Key;
  #made = 0;

  constructor(random: Random, draw: () => Draft, host: string, key: Key) {
    this.#random = random;
    this.#draw = draw;
    this.#host = host;
    this.#key = key;
  }

  next(): TorrentRequest {
    const random = this.#random;
    if (this.#templates.length < 200 || this.#made++ % requestsPerTemplate === 0) this.#renew();
    const template = random.one(this.#templates);
    const { isHead, framed, isFramedWhole, body } = template;
    const kind = random.below(100);
    if (kind < 10) return { bytes: framed, isHead, isWhole: isFramedWhole };
    if (kind < 45) return { bytes: template.sign(mutateBytes(body, random), []), isHead, isWhole: true };
    if (kind < 60) return { bytes: template.sign(body, [random.one(oddHeaders)]), isHead, isWhole: true };
    if (kind < 98) return { bytes: this.#withOddHead(template.sign(body, [])), isHead, isWhole: true };
    return { bytes: mutateBytes(framed, random), isHead, isWhole: false };
  }

  /** Bytes of the target or of a header replaced, so that the request ends where it did. */
  #withOddHead(bytes: Buffer): Buffer {
    const random = this.#random;
    const changed = Buffer.from(bytes);
    const end = changed.indexOf("\r\n\r\n");
    const line = changed.indexOf("\r\n");
    const isTarget = random.chance(50);
    const from = isTarget ? changed.indexOf(" ") + 1 : line + 2;
    const to = isTarget ? line - " HTTP/1.1".length : end;
    for (let count = 1 + random.below(3); count > 0 && to > from; count -= 1) {
      const at = from + random.below(to - from);
      const before = changed[at]!;
      // Names, ends of lines and lengths stay, or the next request would begin elsewhere.
      if (isTarget ? before === 0x2f : !isValue(changed, at)) continue;
      changed[at] = random.one(oddBytes);
    }
    return changed;
  }

  #renew(): void {
    const random = this.#random;
    const draft = this.#draw();
    if (draft.body.length > bodyBytesMax) draft.body = draft.body.subarray(0, bodyBytesMax);
    const signed = signable(draft, this.#host, this.#key);
    const framed = frameRequest(draft, this.#host, this.#key, random);
    const template: Template = {
      isHead: draft.method === "HEAD",
      framed: framed.bytes,
      isFramedWhole: framed.isWhole && !isOfUncertainLength(draft),
      sign: signed,
      body: draft.body,
    };
    if (this.#templates.length < templatesMax) this.#templates.push(template);
    else this.#templates[random.below(templatesMax)] = template;
  }
}

const oddBytes = [...Buffer.from(`!"%&'+,./09;<=>A\\~`)];

/** Whether a byte is of the value of a header that does not say how long the request is. */
const isValue = (head: Buffer, at: number): boolean => {
  const start = head.lastIndexOf("\n", at) + 1;
  const colon = head.indexOf(":", start);
  if (colon === -1 || at <= colon + 1 || head[at] === 13 || head[at] === 10) return false;
  const name = head.toString("latin1", start, colon).toLowerCase();
  return !lengthHeaders.has(name);
};

const lengthHeaders = new Set(["content-length", "transfer-encoding", "connection", "expect", "upgrade", "host"]);

/** Mutations of a draft may have given it headers that change where it ends or what is awaited. */
const isOfUncertainLength = ({ headers }: Draft): boolean =>
  Object.keys(headers).some((name) => lengthHeaders.has(name.toLowerCase()));

/** How a draft is signed for any body. */
const signable = (draft: Draft, host: string, key: Key): Template["sign"] => {
  const { dialect } = draft.spelling;
  const brand = dialect.signature;
  const isXml = draft.protocol === Protocol.REST_XML;
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const scope = [time.slice(0, 8), "us-east-1", dialect.signingNames[draft.api]?.[0] ?? "", brand.terminator].join("/");
  const given = Object.entries(draft.headers).filter(([name]) => !lengthHeaders.has(name.toLowerCase()));
  const headers: Record<string, string> = { host, ...Object.fromEntries(given) };
  headers[`${brand.headerPrefix}date`] ??= time;
  if (isXml) headers[`${brand.headerPrefix}content-sha256`] = "UNSIGNED-PAYLOAD";
  const canonical = canonicalHead(draft, isXml, headers);
  const signingKey = signingKeyOf(brand, key, scope);
  const signedHeaders = Object.keys(headers).toSorted().join(";");
  const target = draft.path + (draft.query.length === 0 ? "" : `?${queryText(draft.query)}`);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const start = `${draft.method} ${target} HTTP/1.1\r\n${lines.join("")}`;
  const credential = `authorization: ${brand.algorithm} Credential=${key.accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=`;
  return (body, unsigned) => {
    const document = hash(canonical + (isXml ? "UNSIGNED-PAYLOAD" : hash(body)));
    const text = `${brand.algorithm}\n${time}\n${scope}\n${document}`;
    const signature = createHmac("sha256", signingKey).update(text).digest("hex");
    const further = unsigned.map(([name, value]) =>
      name in headers || name === "expect" ? "" : `${name}: ${value}\r\n`,
    );
    const length = `content-length: ${body.length}\r\n\r\n`;
    const head = `${start}${credential}${signature}\r\n${further.join("")}${length}`;
    return Buffer.concat([Buffer.from(head, "latin1"), body]);
  };
};
