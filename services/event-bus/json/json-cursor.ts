/** The UTF-16 code of `{`. */
export const openBrace = 0x7b;
/** The UTF-16 code of `[`. */
export const openBracket = 0x5b;
/** The UTF-16 code of `"`. */
export const quote = 0x22;
/** The UTF-16 code of `}`. */
export const closeBrace = 0x7d;
/** The UTF-16 code of `]`. */
export const closeBracket = 0x5d;
/** The UTF-16 code of `,`. */
export const comma = 0x2c;
/** The UTF-16 code of `:`. */
export const colon = 0x3a;
const backslash = 0x5c;

/**
 * Walks JSON text that is known to be valid without building values: unneeded values are skipped, and needed ones are
 * returned as they are written.
 */
export class JsonCursor {
  readonly text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
  }

  /** Moves to the next character that is not white space and returns its code. */
  peek(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code > 0x20) return code;
      this.at += 1;
      if (this.at >= this.text.length) return closeBrace;
    }
  }

  /** Enters the object or the list whose opening character is at the cursor. */
  enter(): void {
    this.at += 1;
  }

  /** Whether another member or element follows. If not, leaves the object or the list. */
  hasMore(): boolean {
    if (this.peek() === comma) this.at += 1;
    const code = this.peek();
    if (code !== closeBrace && code !== closeBracket) return true;
    this.at += 1;
    return false;
  }

  /** Returns the name of the next member and moves after its colon. */
  memberName(): string {
    const name = this.string();
    this.peek();
    this.at += 1;
    return name;
  }

  /** Returns the next string, without its quotes and escapes. */
  string(): string {
    this.peek();
    const start = this.at;
    this.#skipString();
    const raw = this.text.slice(start, this.at);
    return raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1);
  }

  /** Returns the text of the next number, `true`, `false` or `null`. */
  literal(): string {
    this.peek();
    const start = this.at;
    this.#skipLiteral();
    return this.text.slice(start, this.at);
  }

  /** Returns the text of the next value of any type. */
  value(): string {
    this.peek();
    const start = this.at;
    this.skipValue();
    return this.text.slice(start, this.at);
  }

  /** Moves after the next value of any type. */
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

/** The number of levels of objects and lists in valid JSON: 0 for a literal, 1 for `{}`. */
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
