import type { Compilation, Evaluate, Resolve, RunningAggregate } from "./evaluate/compile.ts";
import { compileExpression } from "./evaluate/compile.ts";
import type { ResultWriter } from "./output/result-writer.ts";
import type { Query, SelectedValue } from "./sql/syntax.ts";
import type { Timestamp } from "./values/timestamp.ts";
import type { Value } from "./values/value.ts";

/** The records of one kind of object. */
export interface RecordKind<Row> {
  readonly resolve: Resolve<Row>;
  /** The names and the values of a whole record. */
  whole(row: Row): { readonly names: readonly string[]; readonly values: readonly Value[] };
  /** The record as it is in the object, if the result may have it so. */
  verbatim(row: Row): string | undefined;
}

/** Characters of the result after which the caller is to take them. */
const gatheredCharactersMax = 128 * 1024;

/** A query while the records of an object are read. */
export class QueryRun<Row> {
  readonly #kind: RecordKind<Row>;
  readonly #writer: ResultWriter;
  readonly #limit: number;
  readonly #where: Evaluate<Row> | undefined;
  readonly #names: readonly string[];
  /** Undefined: whole records. */
  readonly #selected: readonly Evaluate<Row>[] | undefined;
  readonly #aggregates: readonly RunningAggregate<Row>[];
  readonly #isAggregated: boolean;
  #count = 0;
  #text = "";

  /** Compiles the query. Throws what refuses its expressions. */
  constructor(query: Query, kind: RecordKind<Row>, writer: ResultWriter, now: Timestamp) {
    this.#kind = kind;
    this.#writer = writer;
    this.#limit = query.limit ?? Number.POSITIVE_INFINITY;
    this.#isAggregated = query.isAggregated;
    const compilation: Compilation<Row> = { resolve: kind.resolve, alias: aliasOf(query), now, aggregates: undefined };
    const aggregates: RunningAggregate<Row>[] = [];
    const selecting = query.isAggregated ? { ...compilation, aggregates } : compilation;
    this.#selected = query.selected?.map(({ expression }) => compileExpression(expression, selecting));
    this.#names = (query.selected ?? []).map(nameOf);
    this.#aggregates = aggregates;
    this.#where = query.where && compileExpression(query.where, compilation);
  }

  /** Whether no further record can change the result. */
  get isDone(): boolean {
    return this.#isAggregated ? this.#limit === 0 : this.#count >= this.#limit;
  }

  /** Adds a record; false: the text of the result is to be taken first, or the query is done. */
  add(row: Row): boolean {
    if (this.isDone) return false;
    if (this.#where !== undefined && this.#where(row) !== true) return true;
    if (this.#isAggregated) {
      for (const { aggregate, operand } of this.#aggregates) aggregate.add(operand(row));
      return true;
    }
    this.#count += 1;
    this.#text += this.#written(row);
    return this.#text.length < gatheredCharactersMax && !this.isDone;
  }

  /** Adds the record that aggregate functions make. */
  end(): void {
    if (!this.#isAggregated || this.isDone) return;
    // Aggregate functions have their result without a record.
    const values = this.#selected?.map((evaluate) => evaluate(undefined as Row)) ?? [];
    this.#text += this.#writer.record(this.#names, values);
  }

  /** The text of the result since it was taken. */
  takeText(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  #written(row: Row): string {
    const writer = this.#writer;
    if (this.#selected !== undefined) {
      const values = this.#selected.map((evaluate) => evaluate(row));
      return writer.record(this.#names, values);
    }
    const verbatim = writer.verbatimEnd === undefined ? undefined : this.#kind.verbatim(row);
    if (verbatim !== undefined) return verbatim + (writer.verbatimEnd ?? "");
    const { names, values } = this.#kind.whole(row);
    return writer.record(names, values);
  }
}

/** What the query calls a record: the alias, or the last name of its path. */
const aliasOf = ({ alias, from }: Query): string | undefined => {
  const last = from.at(-1);
  return alias ?? (last?.kind === "name" ? last.name : undefined);
};

/** The name of a value of the result: its alias, the last name of its path, or its position. */
const nameOf = ({ expression, alias }: SelectedValue, index: number): string => {
  if (alias !== undefined) return alias;
  const last = expression.kind === "path" ? expression.steps.at(-1) : undefined;
  return last?.kind === "name" ? last.name : `_${index + 1}`;
};
