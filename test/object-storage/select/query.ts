import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import { scan } from "../../../services/object-storage/select/scan.ts";
import type { QueryMembers } from "../../../services/object-storage/select/scan-job.ts";
import { querySettings, spanOf } from "../../../services/object-storage/select/scan-job.ts";
import type { ScanFigures } from "../../../services/object-storage/select/scanned-object.ts";

type Input = NonNullable<QueryMembers["inputSerialization"]>;
type Output = NonNullable<QueryMembers["outputSerialization"]>;

export interface QueryOptions {
  /** Unset: separated values with a header. */
  readonly input?: Input;
  /** Unset: separated values. */
  readonly output?: Output;
  readonly range?: QueryMembers["scanRange"];
  /** Bytes of a piece of the object. Unset: 5. */
  readonly pieceBytes?: number;
}

const withHeader: Input = { csv: { fileHeaderInfo: "USE" } };
export const jsonLines: Input = { json: { type: "LINES" } };

/** The instant of every query. */
const nowMs = Date.UTC(2026, 1, 3, 4, 5, 6, 7);

/** Runs a query over an object that is read in pieces; returns the result and the figures. */
export const runQuery = async (
  expression: string,
  content: string | Uint8Array,
  { input = withHeader, output = { csv: {} }, range, pieceBytes = 5 }: QueryOptions = {},
): Promise<{ readonly text: string; readonly figures: ScanFigures }> => {
  const bytes = Buffer.from(content as Uint8Array);
  const settings = querySettings({
    expression,
    expressionType: "SQL",
    inputSerialization: input,
    outputSerialization: output,
    ...(range && { scanRange: range }),
  });
  const job = { ...settings, span: spanOf(range, bytes.length), sizeBytes: bytes.length, nowMs };
  const figures = { scannedBytes: 0, processedBytes: 0, returnedBytes: 0 };
  const object = {
    sizeBytes: bytes.length,
    pieces: async function* (from: number, to: number) {
      for (let at = from; at < to; at += pieceBytes) yield bytes.subarray(at, Math.min(at + pieceBytes, to));
    },
  };
  const pieces: Buffer[] = [];
  for await (const piece of scan(job, object, figures)) pieces.push(piece);
  return { text: Buffer.concat(pieces).toString("utf8"), figures };
};

/** The result of a query, or the reason and message of its refusal. */
export const resultOf = async (
  expression: string,
  content: string | Uint8Array,
  options: QueryOptions = {},
): Promise<string> => {
  try {
    return (await runQuery(expression, content, options)).text;
  } catch (error) {
    if (error instanceof ServiceError) return `${error.facts.reason}: ${error.message}`;
    throw error;
  }
};
