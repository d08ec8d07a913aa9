import { PathReader } from "../json/json-path.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/** Variables that a template may use without mapping them. */
export const predefinedNames: ReadonlySet<string> = new Set([
  "aws.events.rule-arn",
  "aws.events.rule-name",
  "aws.events.event.ingestion-time",
  "aws.events.event",
  "aws.events.event.json",
]);

const placeholderShape = /<([A-Za-z0-9_.-]+)>/g;

/** The names of the variables that a template uses, in their order. */
export const placeholdersOf = (template: string): string[] =>
  [...template.matchAll(placeholderShape)].map(([, name]) => name ?? "");

/** The values with which a template is filled. */
interface TemplateValues {
  /** The whole event as JSON. */
  readonly event: string;
  /** The paths in the event of the variables' values, by the variables' names. */
  readonly paths: Readonly<Record<string, string>>;
  /** The values of the predefined variables as JSON, by their names. */
  readonly predefined: Readonly<Record<string, string>>;
}

/**
 * Characters of a filled template. The largest event fits in several times, but not as often as a template can repeat
 * it.
 */
const filledCharactersMax = 1_048_576;

/** A filled template would be longer than `filledCharactersMax`. */
export class FilledTooLongError extends Error {
  override readonly name = "FilledTooLongError";

  constructor() {
    super(`the filled template is longer than ${filledCharactersMax} characters`);
  }
}

/**
 * Fills a template. A template that begins with a quote is text: it keeps its quotes, and values are inserted as plain
 * text. Any other is JSON: a value is inserted as JSON, or as plain text inside a string. Plain text is a string
 * without its quotes and escapes, an object or list without any quotes, and anything else in its written form. Inside
 * a string of JSON an object or list keeps its quotes, so that the result is not JSON. An absent value is an empty
 * string. Values are not escaped. Undefined if the result of a JSON template is not JSON. Throws FilledTooLongError
 * and PathsTooCostlyError.
 */
export const fillInputTemplate = (template: string, values: TemplateValues): string | undefined => {
  const isText = template.trimStart().startsWith('"');
  const filled = fill(template, new VariableValues(values), isText);
  return isText || isJson(filled) ? filled : undefined;
};

const fill = (template: string, values: VariableValues, isText: boolean): string => {
  let filled = "";
  const add = (text: string): void => {
    filled += text;
    if (filled.length > filledCharactersMax) throw new FilledTooLongError();
  };
  let at = 0;
  let isInString = isText;
  for (const match of template.matchAll(placeholderShape)) {
    const between = template.slice(at, match.index);
    if (!isText) isInString = endsInString(between, isInString);
    const name = match[1] ?? "";
    const isRaw = !isInString || (!isText && isComposed(values.json(name)));
    add(between + (isRaw ? (values.json(name) ?? '""') : values.plain(name)));
    at = match.index + match[0].length;
  }
  add(template.slice(at));
  return filled;
};

/** The values of a template's variables. Each is read from the event once, however often the template uses it. */
class VariableValues {
  readonly #values: TemplateValues;
  readonly #event: PathReader;
  readonly #json = new Map<string, string | undefined>();
  readonly #plain = new Map<string, string>();

  constructor(values: TemplateValues) {
    this.#values = values;
    this.#event = new PathReader(values.event);
  }

  json(name: string): string | undefined {
    if (!this.#json.has(name)) this.#json.set(name, this.#valueOf(name));
    return this.#json.get(name);
  }

  plain(name: string): string {
    let plain = this.#plain.get(name);
    if (plain === undefined) {
      plain = plainText(this.json(name));
      this.#plain.set(name, plain);
    }
    return plain;
  }

  #valueOf(name: string): string | undefined {
    const { paths, predefined } = this.#values;
    const path = Object.hasOwn(paths, name) ? paths[name] : undefined;
    if (path !== undefined) return this.#event.read(path);
    return Object.hasOwn(predefined, name) ? predefined[name] : undefined;
  }
}

const endsInString = (text: string, beginsInString: boolean): boolean => {
  let isInString = beginsInString;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') isInString = !isInString;
    else if (text[at] === "\\" && isInString) at += 1;
  }
  return isInString;
};

const isComposed = (json: string | undefined): boolean =>
  json?.startsWith("{") === true || json?.startsWith("[") === true;

const plainText = (json: string | undefined): string => {
  if (json === undefined) return "";
  if (json.startsWith('"')) return JSON.parse(json) as string;
  if (isComposed(json)) return JSON.stringify(parseJson(json)).replaceAll('"', "");
  return json;
};

const isJson = (text: string): boolean => {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
};
