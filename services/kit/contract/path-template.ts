/** One segment of a path template. */
export type TemplateSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "label"; readonly name: string }
  | { readonly kind: "greedy"; readonly name: string };

/** A required query parameter; an undefined value: any. */
interface TemplateQuery {
  readonly name: string;
  readonly value: string | undefined;
}

/** A parsed path template. */
export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly TemplateSegment[];
  readonly query: readonly TemplateQuery[];
  /** Names of the labels, in order. */
  readonly labels: readonly string[];
}

/**
 * Parses a path template.
 *
 *     template = "/" [ segment *( "/" segment ) ] [ "?" query *( "&" query ) ]
 *     segment  = literal / "{" name "}" / "{" name "+}"      a greedy label spans slashes and is the last
 *     query    = name [ "=" value ]
 *
 * Throws an Error that names the template and its fault.
 */
export const parsePathTemplate = (text: string): PathTemplate => {
  const refuse = (why: string): Error => new Error(`path template "${text}": ${why}`);
  const mark = text.indexOf("?");
  const path = mark === -1 ? text : text.slice(0, mark);
  if (!path.startsWith("/")) throw refuse("does not begin with a slash");
  const pieces = path === "/" ? [] : path.slice(1).split("/");
  const segments = pieces.map((piece, index): TemplateSegment => {
    const label = /^\{([A-Za-z][A-Za-z0-9]*)(\+?)\}$/.exec(piece);
    if (label === null) {
      if (piece === "" || /[{}]/.test(piece)) throw refuse(`segment "${piece}" is neither a literal nor a label`);
      return { kind: "literal", text: piece };
    }
    if (label[2] === "") return { kind: "label", name: label[1]! };
    if (index !== pieces.length - 1) throw refuse("a greedy label must be the last");
    return { kind: "greedy", name: label[1]! };
  });
  const labels = segments.flatMap((segment) => (segment.kind === "literal" ? [] : [segment.name]));
  if (new Set(labels).size !== labels.length) throw refuse("names a label twice");
  return { text, segments, query: mark === -1 ? [] : parseQuery(text.slice(mark + 1)), labels };
};

const parseQuery = (text: string): TemplateQuery[] =>
  text.split("&").map((piece) => {
    const equals = piece.indexOf("=");
    return equals === -1
      ? { name: piece, value: undefined }
      : { name: piece.slice(0, equals), value: piece.slice(equals + 1) };
  });
