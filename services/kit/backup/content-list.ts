import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";

import type { ContentFile } from "./stored-data.ts";

/** Lines are written together when they have this many characters. */
const writeLengthMin = 64 * 1024;

/** Writes a list of content files, one a line: its size and its path. */
export class ContentListWriter {
  readonly #file: FileHandle;
  #lines = "";
  count = 0;
  bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async add({ path, sizeBytes }: ContentFile): Promise<void> {
    this.#lines += `${sizeBytes} ${path}\n`;
    this.count += 1;
    this.bytes += sizeBytes;
    if (this.#lines.length >= writeLengthMin) await this.flush();
  }

  async flush(): Promise<void> {
    const lines = this.#lines;
    this.#lines = "";
    await this.#file.writeFile(lines);
  }
}

/** The files of a list in its order. Throws if a line is not one. */
export async function* readContentList(path: string): AsyncGenerator<ContentFile, void> {
  const file = await open(path);
  try {
    for await (const line of file.readLines()) {
      const [, size, name] = /^(\d{1,16}) ([\w./-]+)$/.exec(line) ?? [];
      if (size === undefined || name === undefined || name.split("/").includes(".."))
        throw new Error(`${path} has a line that names no file`);
      yield { path: name, sizeBytes: Number(size) };
    }
  } finally {
    await file.close();
  }
}
