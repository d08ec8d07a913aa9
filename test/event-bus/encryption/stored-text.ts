import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

/** All bytes of a database. */
export const storedText = async (directory: string): Promise<string> => {
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), "latin1"));
  return (await Promise.all(texts)).join("");
};
