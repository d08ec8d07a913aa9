import { SaxesParser } from "saxes";

import { malformedBody } from "../refusal.ts";

/** One element of a document. Names are without their prefix. */
export interface XmlElement {
  readonly name: string;
  /** By qualified name, `xsi:type`. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlElement[];
  /** The text directly in the element. */
  text: string;
}

/** Limits of a document besides its size in bytes. */
const depthMax = 32;
const elementsMax = 100_000;

/**
 * Reads a document into a tree. Refuses a document type, so that there are no entities but the five predefined ones,
 * and documents that are too deep or have too many elements. Throws MALFORMED_BODY.
 */
export const parseXml = (text: string): XmlElement => {
  const parser = new SaxesParser({ xmlns: false, position: false });
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;
  let elements = 0;
  parser.on("error", () => {
    throw malformedBody(notWellFormed);
  });
  parser.on("doctype", () => {
    throw malformedBody("The XML you provided has a document type, which is not allowed.");
  });
  parser.on("opentag", (tag) => {
    elements += 1;
    if (open.length >= depthMax || elements > elementsMax) throw malformedBody(notWellFormed);
    const element: XmlElement = { name: localName(tag.name), attributes: tag.attributes, children: [], text: "" };
    const parent = open.at(-1);
    if (parent === undefined) root = element;
    else parent.children.push(element);
    open.push(element);
  });
  const addText = (piece: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += piece;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    open.pop();
  });
  parser.write(text).close();
  if (root === undefined) throw malformedBody(notWellFormed);
  return root;
};

const notWellFormed = "The XML you provided was not well-formed or did not validate against our published schema.";

const localName = (name: string): string => name.slice(name.indexOf(":") + 1);
