import { pascalCase } from "../../services/kit/contract/spellings.ts";
import type { Dialect } from "../dialects/dialect.ts";

/** The error that an HTTP answer reports, before a codec writes it. */
export interface HttpFault {
  readonly name: string;
  /** The name in the public dialect; most often the same. */
  readonly publicName: string;
  readonly status: number;
  readonly message: string;
  /** Further members of the answer, PascalCase name and value, in order. */
  readonly members: readonly (readonly [string, string])[];
  /** Further headers of the answer, by lower-case name in the documented spelling. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The fault's name in a dialect. */
export const faultName = (fault: HttpFault, dialect: Dialect): string =>
  dialect.writesPublicNames ? fault.publicName : fault.name;

/** The name of the member that shows a metadata key of a refusal. */
export const memberName = (key: string): string => (key === "content_md5" ? "Content-MD5" : pascalCase(key));
