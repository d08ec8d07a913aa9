import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** One instruction of a Dockerfile: its word in capitals, and the rest of its line. */
export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of a Dockerfile, continued lines joined, without comments. */
export const readInstructions = (text: string): readonly Instruction[] =>
  text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, word = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { word, rest };
    });

/** What a Dockerfile's last stage says of the containers. */
export interface Image {
  /** The directory that stands for the image's root. */
  readonly root: string;
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

export interface BuildOptions {
  /** The instructions of the Dockerfile. */
  readonly instructions: readonly Instruction[];
  /** The directory that COPY reads. */
  readonly context: string;
  /** A directory in which each stage gets one that stands for its root. */
  readonly scratch: string;
  /** Whether a path of the context reaches the build. */
  readonly isInContext: (path: string) => boolean;
  /** Changes the command of a RUN for a machine that is no container. */
  readonly adapt: (command: string, root: string) => string;
}

/** Carries out the instructions in scratch directories. Throws for one that it does not know. */
export const build = async ({ instructions, context, scratch, isInContext, adapt }: BuildOptions): Promise<Image> => {
  const stages = new Map<string, string>();
  let root = "";
  let workingDirectory = "/";
  let environment: Record<string, string> = {};
  let [user, command, healthCheck]: [string, string[], string[]] = ["root", [], []];
  for (const { word, rest } of instructions) {
    if (word === "FROM") {
      root = await mkdtemp(join(scratch, "stage-"));
      const [, name] = / AS (\S+)$/.exec(rest) ?? [];
      if (name !== undefined) stages.set(name, root);
      [workingDirectory, environment, user] = ["/", {}, "root"];
    } else if (word === "WORKDIR") {
      workingDirectory = rest;
      await mkdir(join(root, rest), { recursive: true });
    } else if (word === "COPY") {
      const [, stage, paths = ""] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
      const sources = paths.split(" ");
      const target = sources.pop() ?? "";
      for (const source of sources) {
        if (stage === undefined && !isInContext(source)) throw new Error(`.dockerignore keeps ${source} out`);
        const from = stage === undefined ? join(context, source) : join(stages.get(stage) ?? "", source);
        const to = join(root, workingDirectory, target.endsWith("/") ? join(target, source) : target);
        await cp(from, to, { recursive: true });
      }
    } else if (word === "RUN") {
      // npm would leave its own compiled code in the temporary directory.
      const env = { ...process.env, ...environment, NODE_DISABLE_COMPILE_CACHE: "1" };
      const options = { cwd: join(root, workingDirectory), env };
      await promisify(execFile)("sh", ["-c", adapt(rest, root)], options);
    } else if (word === "ENV") {
      for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) environment[name] = value;
    } else if (word === "USER") user = rest;
    else if (word === "CMD") command = JSON.parse(rest) as string[];
    else if (word === "HEALTHCHECK") healthCheck = JSON.parse(rest.slice(rest.indexOf("["))) as string[];
    else if (!["VOLUME", "EXPOSE", "STOPSIGNAL"].includes(word)) throw new Error(`unknown instruction ${word}`);
  }
  return { root, workingDirectory, environment, user, command, healthCheck };
};
