import { parseJson } from "../../services/kit/json/parse-json.ts";
import { decodePercent } from "../http/percent.ts";
import { ErrorReason, malformedBody, refusal } from "../refusal.ts";

/** One CloudEvent (specification 1.0.2) that was received over HTTP. */
export interface CloudEvent {
  /** Names the event among those of its source. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  /** In milliseconds since 1970. Undefined: the event has none. */
  readonly timeMs: number | undefined;
  /** The event in the JSON format, with the text of its data unchanged. */
  readonly json: string;
}

/** The CloudEvents of a request, and whether it is a batch. */
export interface CloudEvents {
  readonly events: readonly CloudEvent[];
  readonly isBatch: boolean;
}

/** Events of a batch; PutEvents accepts no more. */
const batchMax = 10;
/** PutEvents accepts half as many bytes; more are not read, of which there could be 4 MiB with a million values. */
const bodyBytesMax = 512 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads the CloudEvents of a request in the structured, batched or binary mode of the HTTP binding. Throws
 * BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for another content, and MALFORMED_BODY for what is no CloudEvent, with the
 * reason.
 */
export const readCloudEvents = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Buffer,
): CloudEvents => {
  if (body.length > bodyBytesMax) throw refusal(ErrorReason.BODY_TOO_LARGE);
  const contentType = String(headers["content-type"] ?? "");
  const mediaType = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "application/cloudevents+json") return { events: [structuredEvent(textOf(body))], isBatch: false };
  if (mediaType === "application/cloudevents-batch+json") return { events: batchOf(textOf(body)), isBatch: true };
  if (mediaType.startsWith("application/cloudevents") || headers["ce-specversion"] === undefined)
    throw refusal(ErrorReason.UNSUPPORTED_MEDIA_TYPE, { content_type: mediaType });
  return { events: [binaryEvent(headers, contentType, mediaType, body)], isBatch: false };
};

const textOf = (body: Buffer): string => {
  try {
    return utf8.decode(body);
  } catch {
    throw malformedBody("The body is not UTF-8.");
  }
};

const parsed = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch {
    throw malformedBody("The body is not JSON.");
  }
};

const structuredEvent = (text: string): CloudEvent => eventOf(parsed(text), text.trim());

const batchOf = (text: string): CloudEvent[] => {
  const values = parsed(text);
  if (!Array.isArray(values)) throw malformedBody("A batch of CloudEvents is a JSON array.");
  if (values.length === 0 || values.length > batchMax)
    throw malformedBody(`A batch has 1 to ${batchMax} CloudEvents; this one has ${values.length}.`);
  const texts = elementsOf(text);
  return values.map((value, index) => eventOf(value, texts[index] ?? ""));
};

/** The texts of the elements of a JSON array that is well-formed. */
const elementsOf = (text: string): string[] => {
  const elements: string[] = [];
  let depth = 0;
  let start = text.indexOf("[") + 1;
  for (let at = start; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '"') {
      at += 1;
      while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    } else if (letter === "{" || letter === "[") depth += 1;
    else if ((letter === "]" && depth === 0) || (letter === "," && depth === 0)) {
      elements.push(text.slice(start, at).trim());
      start = at + 1;
      if (letter === "]") break;
    } else if (letter === "}" || letter === "]") depth -= 1;
  }
  return elements;
};

/** The event that a JSON object is. Throws MALFORMED_BODY. */
const eventOf = (value: unknown, json: string): CloudEvent => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw malformedBody("A CloudEvent is a JSON object.");
  const { data, data_base64: dataBase64, ...attributes } = value as Readonly<Record<string, unknown>>;
  if (data !== undefined && dataBase64 !== undefined)
    throw malformedBody("A CloudEvent has data or data_base64, not both.");
  if (dataBase64 !== undefined && (typeof dataBase64 !== "string" || !isBase64(dataBase64)))
    throw malformedBody("data_base64 is not a text in base64.");
  return { ...checked(attributes), json };
};

const isBase64 = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);

/** The attributes that the bus needs. Throws MALFORMED_BODY for the first attribute that is wrong. */
const checked = (attributes: Readonly<Record<string, unknown>>): Omit<CloudEvent, "json"> => {
  for (const [name, value] of Object.entries(attributes)) {
    if (!/^[a-z0-9]+$/.test(name))
      throw malformedBody(`The name of the attribute ${name.slice(0, 64)} has not only a-z and 0-9.`);
    if (!["string", "boolean"].includes(typeof value) && value !== null && !Number.isInteger(value))
      throw malformedBody(`The attribute ${name} is not a text, a whole number or a boolean.`);
  }
  if (attributes["specversion"] !== "1.0") throw malformedBody("The attribute specversion is not 1.0.");
  const [id, source, type] = ["id", "source", "type"].map((name) => {
    const value = attributes[name];
    if (typeof value !== "string" || value === "") throw malformedBody(`The attribute ${name} is missing.`);
    return value;
  });
  return { id: id ?? "", source: source ?? "", type: type ?? "", timeMs: timeOf(attributes["time"]) };
};

const timeShape = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

const timeOf = (value: unknown): number | undefined => {
  if (value === undefined || value === null) return undefined;
  const timeMs = typeof value === "string" && timeShape.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(timeMs)) throw malformedBody("The attribute time is not a time of RFC 3339.");
  return timeMs;
};

const prefix = "ce-";

/** An event whose attributes are headers and whose data is the body. */
const binaryEvent = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  contentType: string,
  mediaType: string,
  body: Buffer,
): CloudEvent => {
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith(prefix)) attributes[name.slice(prefix.length)] = headerValue(name, String(value));
  if (contentType !== "") attributes["datacontenttype"] = contentType;
  const event = checked(attributes);
  const members = Object.entries(attributes).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { ...event, json: `{${[...members, ...dataMember(mediaType, body)].join()}}` };
};

/** A percent sign that begins no escape; the SDKs of JavaScript and Python 1 send it as it is. */
const barePercent = /%(?![0-9a-f]{2})/gi;

/** The value of an attribute: percents and other bytes are UTF-8, or, as in HTTP of old, all bytes are Latin-1. */
const headerValue = (name: string, text: string): string => {
  const unquoted = /^"(.*)"$/s.exec(text)?.[1]?.replaceAll(/\\(.)/g, "$1") ?? text;
  const encoded = unquoted.replaceAll(barePercent, "%25");
  try {
    return decodePercent(encoded);
  } catch {
    if (!unquoted.includes("%")) return unquoted;
    throw malformedBody(`The header ${name} is not encoded as UTF-8 in percents.`);
  }
};

/** The member with the data of a binary event: JSON as it is, texts as a string, and all else in base64. */
const dataMember = (mediaType: string, body: Buffer): string[] => {
  if (body.byteLength === 0) return [];
  if (mediaType === "" || /[/+]json$/.test(mediaType)) {
    const text = textOf(body);
    parsed(text);
    return [`"data":${text.trim()}`];
  }
  if (/^text\/|[/+]xml$/.test(mediaType)) return [`"data":${JSON.stringify(textOf(body))}`];
  return [`"data_base64":${JSON.stringify(body.toString("base64"))}`];
};
