/** The page of one process, in the text format of Prometheus; undefined: it could not be read. */
export interface ProcessPage {
  readonly process: string;
  readonly page: string | undefined;
}

interface Family {
  readonly comments: string[];
  readonly samples: string[];
}

/**
 * One page of several processes: each line has the label `process`, and each metric is described once. A further metric
 * says whose page could be read.
 */
export const joinPages = (pages: readonly ProcessPage[]): string => {
  const families = new Map<string, Family>();
  for (const { process, page = "" } of pages) addPage(families, process, page);
  const up = pages.map(({ process, page }) => `quartet_process_up{process="${process}"} ${page === undefined ? 0 : 1}`);
  return [
    "# HELP quartet_process_up 1 if the process has answered.",
    "# TYPE quartet_process_up gauge",
    ...up,
    ...[...families.values()].flatMap(({ comments, samples }) => [...comments, ...samples]),
    "",
  ].join("\n");
};

const addPage = (families: Map<string, Family>, process: string, page: string): void => {
  // Samples follow the comments of their metric; those of a histogram have names of their own.
  let family: Family = { comments: [], samples: [] };
  for (const line of page.split("\n")) {
    const [, kind, name = ""] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
    if (kind !== undefined) {
      family = families.get(name) ?? { comments: [], samples: [] };
      families.set(name, family);
      if (!family.comments.some((comment) => comment.startsWith(`# ${kind} `))) family.comments.push(line);
    } else if (line !== "" && !line.startsWith("#")) family.samples.push(labelled(line, process));
  }
};

/** The name of a metric has neither braces nor spaces, so the first of them ends it. */
const labelled = (sample: string, process: string): string => {
  const end = sample.search(/[{ ]/);
  const rest = sample.startsWith("{", end) ? `,${sample.slice(end + 1)}` : `}${sample.slice(end)}`;
  return `${sample.slice(0, end)}{process="${process}"${rest}`;
};
