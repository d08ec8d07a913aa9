// Run by the test that traces the disk calls of a copy of content. Copies files whose content is not checked.
//
//   node content-copy-child.ts <from> <to> <stage> <path>…
import { copyContent } from "../../../services/kit/backup/content-copy.ts";

const [from, to, stage, ...paths] = process.argv.slice(2) as [string, string, string, ...string[]];

await copyContent({
  files: (async function* () {
    for (const path of paths) yield { path, sizeBytes: 4 };
  })(),
  count: paths.length,
  from,
  to,
  stage,
  isLinked: false,
  content: { fileOf: () => undefined, openCheck: async () => async () => {} },
  signal: new AbortController().signal,
  report: () => {},
});
