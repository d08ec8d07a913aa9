import { AccountLettersRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import { defineTable, text } from "../../kit/store/table.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";

/**
 * How many dead letters of each account are stored, to which transactions add.
 * Sorted so that those of one account are one record.
 * Written with dead_letters.
 *
 *     account_letters/"000000000000"
 *     001f 30303030303030303030303000
 */
export const accountLetters = defineTable({
  number: 31,
  name: "account_letters",
  key: [text("account")],
  value: AccountLettersRecordSchema,
});

/**
 * The dead letters of all domains of an account that are stored, those of deleted domains as well. 0 if their count is
 * damaged: then the bound of each domain holds alone.
 */
export const accountLetterCountOf = async (reader: Reader, account: string): Promise<number> =>
  Number((await reader.get(accountLetters, [account]).catch(undefinedIfDamaged))?.letterCount ?? 0n);

/** Counts dead letters of an account that are stored; fewer than 0 are removed. */
export const countAccountLetters = (transaction: Transaction, account: string, by: number): void =>
  transaction.add(accountLetters, [account], { letterCount: by });
