/**
 * Dry runs of patterns over archives. They change nothing.
 *
 * TestEventPatternOnArchive checks, in order:
 * 1. either a pattern or a rule is given;
 * 2. the pattern, if given, is valid;
 * 3. the start of the time range, if it has both ends, is before its end;
 * 4. the archive exists;
 * 5. the rule, if given, is one of the bus of the archive;
 * 6. the rule exists;
 * 7. it has a pattern;
 * 8. the page token is valid.
 *
 * It also fails while the encryption key of the events cannot be used.
 */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { ArchivePlace, ArchiveRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { TestEventPatternOnArchiveRequest } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import type { Reader } from "../../kit/store/store.ts";
import { currentGivenUp } from "../../kit/trace/current-trace.ts";
import type { Application, Operation } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { envelopeOf, eventJson } from "../domain/envelope.ts";
import { parseRequestPattern } from "../domain/pattern.ts";
import { ErrorReason, fault } from "../faults.ts";
import { flattenEvent } from "../pattern/flatten.ts";
import { Matcher } from "../pattern/matcher.ts";
import type { Pattern } from "../pattern/parse.ts";
import { getArchive, listArchivedEvents, parsePlace, placeText } from "../store/archive.ts";
import { getRule } from "../store/rule.ts";

/** Events that one page examines. */
const eventsMax = 5_000;
/** Bytes of events after which a page ends. */
const bytesMax = 16 * 1024 * 1024;
/** Events that are read at once. */
const stepSize = 50;

/** Counts the events of an archive that match a pattern, and returns the first of them. */
export const testEventPatternOnArchive: Operation<"testEventPatternOnArchive"> = async (request, context) => {
  const { app, access, caller } = context;
  const { archiveName, eventPattern, rule } = request;
  if ((eventPattern === undefined) === (rule === undefined))
    throw refused("EventPattern", "Either EventPattern or Rule must be given.");
  const given = eventPattern === undefined ? undefined : parseRequestPattern(eventPattern);
  const { fromMs, toMs } = rangeOf(request);
  return app.store.read(async (reader) => {
    const archive = await getArchive(reader, caller.accountId, archiveName);
    const pattern = given ?? (await patternOfRule(reader, archive, access.bus, rule ?? ""));
    const filters = [archiveName, eventPattern, rule, String(fromMs), String(toMs)];
    const page = app.pages.open(context, request, filters);
    const range = { fromMs, toMs, after: page.after === undefined ? undefined : parsePlace(page.after) };
    const examined = await examine(app, reader, {
      account: caller.accountId,
      archive,
      range,
      pattern,
      limit: page.itemsMax,
    });
    const { examinedCount, matchedCount, matchedEvents, reached } = examined;
    const nextToken = reached === undefined ? undefined : page.tokenOf(placeText(reached));
    return { examinedCount: BigInt(examinedCount), matchedCount: BigInt(matchedCount), matchedEvents, nextToken };
  });
};

const refused = (parameter: string, reason: string): Error =>
  fault(ErrorReason.PARAMETER_REFUSED, { parameter, reason });

/** The time range of a request. Throws PARAMETER_REFUSED. */
const rangeOf = ({ eventStartTime, eventEndTime }: TestEventPatternOnArchiveRequest) => {
  const ms = (time: Timestamp | undefined, unset: number): number =>
    time === undefined ? unset : Math.min(Math.max(0, timestampMs(time)), Number.MAX_SAFE_INTEGER);
  const range = { fromMs: ms(eventStartTime, 0), toMs: ms(eventEndTime, Number.MAX_SAFE_INTEGER) };
  if (range.fromMs < range.toMs) return range;
  throw refused("EventEndTime", "EventStartTime must be before EventEndTime.");
};

/** The pattern of a rule of the archive's bus. Throws PARAMETER_REFUSED, RULE_NOT_FOUND. */
const patternOfRule = async (
  reader: Reader,
  archive: ArchiveRecord,
  bus: BusReference,
  name: string,
): Promise<Pattern> => {
  if (bus.name !== archive.bus) throw refused("EventBusName", `The archive is of event bus ${archive.bus}.`);
  const { eventPattern } = await getRule(reader, bus, name);
  if (eventPattern === undefined) throw refused("Rule", `Rule ${name} has no pattern.`);
  return parseRequestPattern(eventPattern);
};

interface Examination {
  readonly account: string;
  readonly archive: ArchiveRecord;
  readonly range: Parameters<typeof listArchivedEvents>[3];
  readonly pattern: Pattern;
  /** Events in the answer. */
  readonly limit: number;
}

interface Examined {
  readonly examinedCount: number;
  readonly matchedCount: number;
  readonly matchedEvents: string[];
  /** The last event, if there may be more. */
  readonly reached: ArchivePlace | undefined;
}

/** Compares the events of one page with a pattern, and lets everything else run after each few milliseconds. */
const examine = async (app: Application, reader: Reader, examination: Examination): Promise<Examined> => {
  const { account, archive, range, pattern, limit } = examination;
  const matcher = await new Matcher<true>().withInTurns([{ name: "", pattern, item: true }]);
  const turn = new Turn();
  const asker = { owner: account, givenUp: currentGivenUp() };
  const matchedEvents: string[] = [];
  let { after } = range;
  let [examinedCount, matchedCount, bytes, shownBytes] = [0, 0, 0, 0];
  while (examinedCount < eventsMax && bytes < bytesMax) {
    const found = await listArchivedEvents(reader, account, archive.id, { ...range, after }, stepSize);
    for (const { event: stored, place } of found) {
      if (bytes >= bytesMax) break;
      after = place;
      // It is damaged or missing, and a replay leaves it out as well.
      if (stored === undefined) continue;
      const event = await app.sealing.open(reader, account, stored);
      examinedCount += 1;
      bytes += event.detail.length;
      if (turn.isOver) await turn.next();
      const flat = flattenEvent(envelopeOf(event), event.detail, matcher.wants);
      if ((await matcher.matchInTurns(flat, asker)).length === 0) continue;
      matchedCount += 1;
      if (matchedEvents.length === limit || shownBytes >= app.limits.pageBytesMax) continue;
      const text = eventJson(event);
      shownBytes += Buffer.byteLength(text);
      if (shownBytes < app.limits.pageBytesMax || matchedEvents.length === 0) matchedEvents.push(text);
    }
    if (found.length === 0) return { examinedCount, matchedCount, matchedEvents, reached: undefined };
  }
  return { examinedCount, matchedCount, matchedEvents, reached: after };
};
