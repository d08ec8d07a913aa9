import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import { JsonCursor, openBrace } from "../json/json-cursor.ts";
import { eventTime } from "./envelope.ts";

/** A CloudEvent (specification 1.0.2). */
export interface CloudEvent {
  /** Names and values, without the content type of the data. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly dataContentType: string;
  /** The data as JSON. Undefined: there is none. */
  readonly data: string | undefined;
  /** Whether the data is a text in JSON of bytes in base64. */
  readonly isBase64: boolean;
  /** The event in the JSON format as it was accepted. Undefined: it was not accepted as a CloudEvent. */
  readonly accepted?: string;
}

/**
 * The CloudEvent that a target is given. An event that was accepted as a CloudEvent is that one again, unless the
 * target sets an input of its own; of all others, and with such an input, it is made from the event's members.
 */
export const cloudEventOf = (event: EventRecord, input: string, isOwnInput: boolean): CloudEvent =>
  (isOwnInput ? undefined : acceptedCloudEvent(event)) ?? {
    attributes: [
      ["specversion", "1.0"],
      ["id", event.id],
      ["source", encodeURI(event.source)],
      ["type", event.detailType],
      ["time", eventTime(Number(event.timeMs))],
      ["account", event.account],
      ["region", event.region],
    ],
    dataContentType: "application/json",
    data: input,
    isBase64: false,
  };

const attributeNameShape = /^[a-z0-9]+$/;
const mediaTypeShape = /^[\x21-\x7e][\x20-\x7e]*$/;

/** The CloudEvent in the detail of an event that the gateway accepted as one. */
const acceptedCloudEvent = ({ source, detailType, detail }: EventRecord): CloudEvent | undefined => {
  const members = membersOf(detail);
  const textOf = (name: string): string | undefined => {
    const text = members.get(name);
    return text?.startsWith('"') === true ? String(parseJson(text)) : undefined;
  };
  if (textOf("specversion") !== "1.0" || textOf("source") !== source || textOf("type") !== detailType) return undefined;
  if (textOf("id") === undefined) return undefined;
  const isBase64 = members.has("data_base64");
  const names = [...members.keys()].filter((name) => !["data", "data_base64", "datacontenttype"].includes(name));
  const dataContentType = textOf("datacontenttype") ?? "application/json";
  // Whoever may put events chooses the detail; what no CloudEvent has could not be sent in headers.
  if (!names.every((name) => attributeNameShape.test(name)) || !mediaTypeShape.test(dataContentType)) return undefined;
  return {
    attributes: names.flatMap((name): (readonly [string, string])[] => {
      const text = members.get(name) ?? "null";
      return text === "null" ? [] : [[name, textOf(name) ?? text]];
    }),
    dataContentType,
    data: members.get(isBase64 ? "data_base64" : "data"),
    isBase64,
    accepted: detail.trim(),
  };
};

/** The texts of the members of a JSON object by their names; empty for any other text. */
const membersOf = (text: string): Map<string, string> => {
  const members = new Map<string, string>();
  const cursor = new JsonCursor(text);
  if (cursor.peek() !== openBrace) return members;
  cursor.enter();
  while (cursor.hasMore()) members.set(cursor.memberName(), cursor.value());
  return members;
};

/** The media type of a CloudEvent in the JSON format. */
export const structuredContentType = "application/cloudevents+json; charset=utf-8";

/** A CloudEvent in the JSON format. */
export const structuredCloudEvent = (event: CloudEvent): string => {
  const { attributes, dataContentType, data, isBase64, accepted } = event;
  if (accepted !== undefined) return accepted;
  const members = [...attributes, ["datacontenttype", dataContentType] as const].map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  const named = data === undefined ? [] : [`"${isBase64 ? "data_base64" : "data"}":${data}`];
  return `{${[...members, ...named].join()}}`;
};

/** The data of a CloudEvent as it is sent when its attributes are headers: JSON, or the text or bytes that it means. */
export const cloudEventData = ({ data, dataContentType, isBase64 }: CloudEvent): string | Buffer => {
  if (data === undefined) return "";
  if (isBase64) return Buffer.from(String(parseJson(data)), "base64");
  const isJson = /^[^;]*[/+]json\s*(?:;|$)/i.test(dataContentType);
  return !isJson && data.startsWith('"') ? String(parseJson(data)) : data;
};

/** A value of an attribute as a header has it: in percents where it is not printable ASCII. */
export const attributeHeaderValue = (value: string): string =>
  value.toWellFormed().replaceAll(/[^\x21\x23\x24\x26-\x7e]/gu, (letter) => encodeURIComponent(letter));
