import { limits } from "../../limits.ts";
import type { FieldValue, FlowRecord } from "./field-value.ts";
import { isNested, textOf, valueAt } from "./field-value.ts";

/** What became of a record. */
export type RecordOutcome =
  | { readonly kind: "object"; readonly text: string }
  /** A filter or a check leaves it out. */
  | { readonly kind: "left-out" }
  | { readonly kind: "failed"; readonly reason: string }
  /** A check ends the run. */
  | { readonly kind: "ended"; readonly reason: string };

/** A task that leaves a record out, refuses it or ends the run says so; undefined: the next task follows. */
export type Step = (record: WorkingRecord) => Exclude<RecordOutcome, { readonly kind: "object" }> | undefined;

/** The members of a task, read once. */
export interface TaskSettings {
  readonly type: string;
  readonly operator: string | undefined;
  readonly sources: readonly string[];
  readonly destination: string | undefined;
  property(name: string): string | undefined;
}

/** Why a task cannot be done, as a message for its author. */
export class TaskProblem extends Error {}

/** A record while the tasks act on it. */
export class WorkingRecord {
  readonly #source: FlowRecord;
  readonly #sourceCharacters: number;
  readonly #result = new Map<string, FieldValue>();
  #projected: ReadonlySet<string> | undefined;
  #leftCharacters: number = limits.flowResultCharactersMax;

  constructor(source: FlowRecord, sourceCharacters: number) {
    this.#source = source;
    this.#sourceCharacters = sourceCharacters;
  }

  read(name: string): FieldValue | undefined {
    const own = this.#result.get(name);
    if (own !== undefined) return own;
    if (this.#projected?.has(name) === false) return undefined;
    const whole = this.#source.get(name);
    return whole === undefined && name.includes(".") ? valueAt(this.#source, name.split(".")) : whole;
  }

  /** False: the result is too large. */
  write(name: string, value: FieldValue): boolean {
    this.#leftCharacters -= isNested(value) ? this.#sourceCharacters : (textOf(value)?.length ?? 0);
    if (this.#leftCharacters < 0) return false;
    this.#result.set(name, value);
    return true;
  }

  /** Leaves only these fields of the source. */
  project(names: ReadonlySet<string>): void {
    this.#projected = this.#projected?.intersection(names) ?? names;
  }

  result(isFilled: boolean, intermediate: ReadonlySet<string>): FlowRecord {
    if (isFilled) return new Map([...this.#result].filter(([name]) => !intermediate.has(name)));
    const projected = this.#projected;
    if (projected === undefined) return this.#source;
    const fields = [...projected].map((name) => [name, this.read(name)] as const);
    return new Map(fields.filter((field): field is readonly [string, FieldValue] => field[1] !== undefined));
  }
}

/** The fields that a task fills: the one that it names, or those that it reads. */
export const destinationsOf = ({ destination, sources }: TaskSettings): readonly string[] =>
  destination === undefined ? sources : [destination];

/** The outcome of a record that cannot be processed. */
export const failed = (reason: string) => ({ kind: "failed", reason }) as const;

/** The outcome of a record whose result is too large. */
export const tooLarge = () => failed(`the tasks make more than ${limits.flowResultCharactersMax} characters of it`);
