import { CsvRecords } from "../../../services/customer-profile/domain/flow/records/csv-records.ts";
import { JsonArray, JsonLines } from "../../../services/customer-profile/domain/flow/records/json-records.ts";
import type { RecordReader } from "../../../services/customer-profile/domain/flow/records/source-record.ts";
import { ObjectUnreadable } from "../../../services/customer-profile/domain/flow/records/source-record.ts";
import { arn, parseArn } from "../../../services/kit/arn/arn.ts";
import {
  encodeEntry,
  recordFileEnd,
  RecordFileError,
  RecordFileReader,
  recordFileStart,
} from "../../../services/kit/backup/record-file.ts";
import { bytesOf, byteStringOf } from "../../../services/kit/store/byte-string.ts";
import type { RawEntry } from "../../../services/kit/store/engine.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, outcomeOf, piecesOf } from "../target.ts";

/** The records of an object, and how its reading ended. */
const recordsOf = (reader: RecordReader, pieces: readonly Buffer[]): Promise<string> =>
  outcomeOf(() => {
    const found = [];
    const read = function* () {
      for (const piece of pieces) yield* reader.push(piece);
      yield* reader.end();
    };
    for (const { record, problem, text, endBytes } of read())
      found.push([record && [...record.keys()], problem, text, endBytes]);
    return found;
  }, ObjectUnreadable);

/** A record that arrives in pieces of a few bytes is copied with each, so long ones take too long so. */
const piecedBytesMax = 4096;

/** Each short line that is no JSON costs an error with its stack; a flow reads at most 5,000 such lines at a time. */
const readBytesMax = 16 * 1024;

/** A target for the objects of a format that flows read. */
const flowRecords = (
  name: string,
  open: () => RecordReader,
  texts: Pick<FuzzTarget, "seeds" | "dictionary">,
): FuzzTarget => ({
  name,
  ...texts,
  run: async (given) => {
    const input = given.subarray(0, readBytesMax);
    const whole = await recordsOf(open(), [input]);
    if (input.length > piecedBytesMax) return;
    const inPieces = await recordsOf(open(), piecesOf(input));
    holds(inPieces === whole, "the records differ when the object comes in pieces");
  },
});

const flowCsv = flowRecords("flow-csv", () => new CsvRecords(), {
  seeds: ["a,b\n1,2\n3,4", '\ufeffa,b\r\n"x ""y""\n",\r\n', 'a\n"x"y\n\n'],
  dictionary: ['""', '"', ",", "\n", "\r\n", "\ufeff", "__proto__"],
});

const flowLines = flowRecords("flow-lines", () => new JsonLines(), {
  seeds: ['{"a":1}\n\n {"b":[2.50,{"c":null}]} \r\n', '{"a":1}{"b":2}\n[1]\nnull'],
  dictionary: ['{"', '":', "[", "]", "{}", "\n", "\\u0000", '\\"', "1e999"],
});

const flowArray = flowRecords("flow-array", () => new JsonArray(), {
  seeds: [' [{"a":1}, {"b":"]},["},\n{"c":{"d":[{}]}}]\n', '[1,[],"x\\""]', "[]"],
  dictionary: ['{"', '":', "[", "]", "{}", ",", "\\", '"'],
});

const fileOf = (records: readonly RawEntry[]): Buffer =>
  Buffer.concat([recordFileStart(), ...records.map(encodeEntry), recordFileEnd(records.length)]);

/** What a file of records says, or why it says nothing. */
const entriesIn = (pieces: readonly Buffer[]): Promise<string> =>
  outcomeOf(() => {
    const reader = new RecordFileReader();
    const found = [];
    for (const piece of pieces)
      for (const { key, payload } of reader.add(piece))
        found.push({ key: bytesOf(key).toString("hex"), payload: Buffer.from(payload).toString("hex") });
    reader.end();
    return found;
  }, RecordFileError);

/** Files of a backup, which come from a disk of somebody else. */
const recordFile: FuzzTarget = {
  name: "record-file",
  // The corpus has whole files, with bytes that no text has.
  seeds: [recordFileStart().toString("latin1")],
  dictionary: [
    "quartet-records 1\n",
    "\u0000\u0000\u0000\u0001",
    "\u0004\u0000\u0000\u0000",
    "\u00ff\u00ff\u00ff\u00ff",
  ],
  run: async (input) => {
    const whole = await entriesIn([input]);
    const inPieces = await entriesIn(piecesOf(input));
    holds(inPieces === whole, "the records differ when the file comes in pieces");
    if (whole.startsWith("refused")) return;
    const records = JSON.parse(whole) as { readonly key: string; readonly payload: string }[];
    const again = fileOf(
      records.map(({ key, payload }) => ({
        key: byteStringOf(Buffer.from(key, "hex")),
        payload: Buffer.from(payload, "hex"),
      })),
    );
    holds(again.equals(input), "a file that is read is not the one that is written");
  },
};

const resourceName: FuzzTarget = {
  name: "arn",
  seeds: ["arn:aws:s3:::photos/a b", "arn:svc:iam::111122223333:user/a:b", "arn:aws:events:us-east-1:aws:x"],
  dictionary: ["arn:", "aws", ":", "::", "/", "*", " ", "\u0000", "111122223333"],
  run(input) {
    const text = input.toString("utf8");
    const found = parseArn(text);
    if (found !== undefined) holds(arn(found) === text, "a name differs after it is parsed and written");
  },
};

export const recordTargets = [flowCsv, flowLines, flowArray, recordFile, resourceName];
