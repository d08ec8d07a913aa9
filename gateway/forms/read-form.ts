import { GatheredBytes } from "../../services/kit/wire/gathered-bytes.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { FormPart } from "./multipart-reader.ts";
import { readFormParts } from "./multipart-reader.ts";

/** A form up to its file. */
export interface Form {
  /** The fields before the file, by lower-case name. */
  readonly fields: ReadonlyMap<string, string>;
  /** The file's name without its directories; empty if the browser sends none. */
  readonly fileName: string;
  /** The file, as it arrives. Fields after it are never read. */
  readonly file: AsyncIterable<Uint8Array>;
}

/** The most bytes of all fields together: their heads with names, and their values. */
const fieldsBytesMax = 64 * 1024;
const fieldsCountMax = 100;

/** Reads the fields of a form up to its file. Rejects with FORM_TOO_LARGE, FORM_WITHOUT_FILE and MALFORMED_FORM. */
export const readForm = async (source: AsyncIterable<Uint8Array>, boundary: string): Promise<Form> => {
  const fields = new Map<string, string>();
  let bytesLeft = fieldsBytesMax;
  let fieldsLeft = fieldsCountMax;
  const parts = readFormParts(source, boundary);
  for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
    const part = next.value;
    if (part.name === "file") return { fields, fileName: baseName(part.fileName), file: part.content };
    bytesLeft -= part.headBytes;
    fieldsLeft -= 1;
    if (bytesLeft < 0 || fieldsLeft < 0) throw refusal(ErrorReason.FORM_TOO_LARGE);
    const value = await readField(part, bytesLeft);
    bytesLeft -= value.length;
    fields.set(part.name, value.toString("utf8"));
  }
  throw refusal(ErrorReason.FORM_WITHOUT_FILE, { argument_name: "file", argument_value: "0" });
};

const readField = async (part: FormPart, bytesMax: number): Promise<Buffer> => {
  const bytes = new GatheredBytes();
  for await (const piece of part.content) {
    bytes.add(piece);
    if (bytes.size > bytesMax) throw refusal(ErrorReason.FORM_TOO_LARGE);
  }
  return bytes.take();
};

/** Old browsers send a whole path, with either kind of slash. */
const baseName = (fileName: string | undefined): string => (fileName ?? "").replace(/^.*[/\\]/s, "");
