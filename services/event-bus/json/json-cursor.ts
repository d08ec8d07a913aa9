export const closeBrace = 0x7d;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const openBracket = 0x5b;
export const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;

/**
 * Walks JSON text that is known to be valid, without building values: what is not wanted is skipped, and what is wanted
 * keeps its spelling.
 */
export class JsonCursor {
  readonly text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
  }

  /** The code of the next character that is not white space; the cursor stands on it. */
  peek(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code > 0x20) return code;
      this.at += 1;
      if (this.at >= this.text.length) return closeBrace;
    }
  }

  /** Enters an object or a list whose opening character the cursor stands on. */
  enter(): void {
    this.at += 1;
  }

  /** Whether one more member or element follows; otherwise leaves the object or list. */
  hasMore(): boolean {
    if (this.peek() === comma) this.at += 1;
    const code = this.peek();
    if (code !== closeBrace && code !== closeBracket) return true;
    this.at += 1;
    return false;
  }

  /** The name of the next member; the cursor stands behind its colon. */
  memberName(): string {
    const name = this.string();
    this.peek();
    this.at += 1;
    return name;
  }

  string(): string {
    this.peek();
    const start = this.at;
    this.#skipString();
    const raw = this.text.slice(start, this.at);
    return raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1);
  }

  /** The spelling of the next number or word. */
  literal(): string {
    this.peek();
    const start = this.at;
    this.#skipLiteral();
    return this.text.slice(start, this.at);
  }

  /** The spelling of the next value, whatever it is. */
  value(): string {
    this.peek();
    const start = this.at;
    this.skipValue();
    return this.text.slice(start, this.at);
  }

  skipValue(): void {
    let depth = 0;
    do {
      const code = this.peek();
      if (code === quote) this.#skipString();
      else if (code === openBrace || code === openBracket) {
        depth += 1;
        this.at += 1;
      } else if (code === closeBrace || code === closeBracket) {
        depth -= 1;
        this.at += 1;
      } else if (code === comma || code === colon) this.at += 1;
      else this.#skipLiteral();
    } while (depth > 0);
  }

  #skipString(): void {
    let end = this.at;
    for (;;) {
      end = this.text.indexOf('"', end + 1);
      let backslashes = 0;
      while (this.text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
      if (backslashes % 2 === 0) break;
    }
    this.at = end + 1;
  }

  #skipLiteral(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (!(code > 0x20) || code === comma || code === closeBrace || code === closeBracket) return;
      this.at += 1;
    }
  }
}

/** How deep objects and lists are nested in valid JSON: 0 for a literal, 1 for `{}`. */
export const nestingDepth = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const cursor = new JsonCursor(text, at);
      cursor.skipValue();
      at = cursor.at - 1;
    } else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return deepest;
};
