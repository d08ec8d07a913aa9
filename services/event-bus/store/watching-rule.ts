import { fromBinary, toBinary } from "@bufbuild/protobuf";

import type { RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Pattern } from "../pattern/parse.ts";
import { parsePattern } from "../pattern/parse.ts";
import type { PatternEntry } from "../pattern/segment.ts";

/** The members of a rule that its compiled form has. */
type RuleMembers = Pick<RuleRecord, "name" | "roleArn" | "archiveId" | "archiveKeyId"> & {
  readonly eventPattern: string;
};

const noTargets: readonly string[] = [];

/** About the bytes of memory of a rule without its texts, and of a text without its characters. */
const ruleBytes = 120;
const textBytes = 24;

/**
 * An enabled rule with a pattern, and its targets. Many thousands of them remain in memory, of which few match an
 * event: the pattern and the targets are texts, read when they are used, because the collection of garbage visits
 * every object that a parsed pattern or a message has.
 */
export class WatchingRule implements PatternEntry<WatchingRule> {
  readonly name: string;
  readonly roleArn: string | undefined;
  /** The id of the archive that keeps the matched events; undefined: the rule invokes its targets. */
  readonly archiveId: string | undefined;
  /** The data key under which that archive keeps events; undefined: it names no key. */
  readonly archiveKeyId: string | undefined;
  readonly #pattern: string;
  /** The encoded targets, a character for each byte. */
  readonly #targets: readonly string[];

  constructor({ name, roleArn, archiveId, archiveKeyId, eventPattern }: RuleMembers, targets: readonly Target[]) {
    this.name = name;
    this.roleArn = roleArn;
    this.archiveId = archiveId;
    this.archiveKeyId = archiveKeyId;
    this.#pattern = eventPattern;
    this.#targets =
      targets.length === 0
        ? noTargets
        : targets.map((target) => Buffer.from(toBinary(TargetSchema, target)).toString("latin1"));
  }

  get item(): this {
    return this;
  }

  get pattern(): Pattern {
    return parsePattern(this.#pattern);
  }

  get targets(): readonly Target[] {
    return this.#targets.map((encoded) => fromBinary(TargetSchema, Buffer.from(encoded, "latin1")));
  }

  get bytes(): number {
    return [this.name, this.#pattern, ...this.#targets].reduce(
      (sum, text) => sum + textBytes + text.length,
      ruleBytes + (this.roleArn?.length ?? 0),
    );
  }
}
