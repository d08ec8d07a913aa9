/**
 * One spelling for patterns that take the same texts: without the anchors that both sides imply, without needless
 * escapes, character classes in one order. A pattern that takes everything is none.
 */
export const canonicalPattern = (pattern: string | undefined): string | undefined => {
  if (pattern === undefined) return undefined;
  const inner = pattern.replace(/^\^/, "").replace(/\$$/, "");
  const spelled = inner.replaceAll(/\[((?:\\.|[^\]\\])*)\]|\\(.)/gs, (_whole, content?: string, escaped?: string) =>
    content === undefined ? withoutNeedlessEscape(escaped ?? "") : canonicalClass(content),
  );
  return spelled === ".*" || spelled === "[\\S\\s]*" ? undefined : spelled;
};

const withoutNeedlessEscape = (character: string): string =>
  character === "d" ? "[0-9]" : /[/_'@!#"-]/.test(character) ? character : `\\${character}`;

const canonicalClass = (content: string): string => {
  const isNegated = content.startsWith("^");
  const items = [
    ...(isNegated ? content.slice(1) : content).matchAll(
      /(\\p\{\w+\}|\\x[0-9A-F]{2}|\\.|[^\\])(?:-(\\x[0-9A-F]{2}|\\?[^\\-]))?/gs,
    ),
  ];
  const spelled = items.flatMap(([, first = "", last]) =>
    last === undefined || /^\\[wsdp]/.test(first)
      ? [...(last === undefined ? [] : ["-", bare(last)]), bare(first)]
      : [`${bare(first)}-${bare(last)}`],
  );
  const unique = [...new Set(spelled)].toSorted();
  const [only] = unique;
  if (unique.length === 1 && !isNegated && (only === "." || only === "*")) return `\\${only}`;
  return `[${isNegated ? "^" : ""}${unique.join("")}]`;
};

const bare = (item: string): string => {
  const hexadecimal = /^\\x([2-7][0-9A-F])$/.exec(item)?.[1];
  if (hexadecimal !== undefined) return String.fromCharCode(Number.parseInt(hexadecimal, 16));
  return /^\\[^A-Za-z0-9]$/.test(item) ? item.slice(1) : item;
};
