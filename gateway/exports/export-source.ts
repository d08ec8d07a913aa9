import type { DescMethod, DescService } from "@bufbuild/protobuf";

import type { FieldContract, MethodContract, ServiceApi } from "../../services/kit/contract/contract.ts";
import { methodContract, serviceApi } from "../../services/kit/contract/contract.ts";
import { pascalCase } from "../../services/kit/contract/spellings.ts";
import type { FaultTable } from "../../services/kit/faults/service-error.ts";
import { faultTable } from "../../services/kit/faults/service-error.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { apiServices } from "../services.ts";
import type { Describe } from "./proto-comments.ts";
import { readUnoffered } from "./unoffered.ts";
import type { DocumentedError } from "./documented-errors.ts";
import { documentedErrors } from "./documented-errors.ts";

/** The input of the exports of one API. */
export interface ExportSource {
  readonly api: ServiceApi;
  readonly service: DescService;
  readonly faults: FaultTable;
  readonly errors: readonly DocumentedError[];
  readonly spelling: DialectSpelling;
  readonly describe: Describe;
  /** The operations that answer that they are not implemented. */
  readonly unoffered: ReadonlySet<string>;
}

/** The four APIs in a dialect. */
export const exportSources = (spelling: DialectSpelling, describe: Describe): ExportSource[] =>
  Object.values(apiServices).map(({ service, errors }) => {
    const api = serviceApi(service);
    const faults = faultTable(errors);
    return {
      api,
      service,
      faults,
      errors: documentedErrors(faults, api.protocol, spelling.dialect),
      spelling,
      describe,
      unoffered: readUnoffered(api.name, service),
    };
  });

/** An operation and its route in HTTP, also in a protocol with one path for all operations. */
export interface ExportedOperation {
  readonly desc: DescMethod;
  readonly contract: MethodContract;
  readonly httpMethod: string;
  /** The path of the trait, with labels and literal query parameters. */
  readonly requestUri: string;
  readonly status: number;
}

/** The operations of an API by name. */
export const operationsOf = ({ service }: ExportSource): ExportedOperation[] =>
  service.methods
    .map((desc): ExportedOperation => {
      const contract = methodContract(desc);
      const { http } = contract;
      return {
        desc,
        contract,
        httpMethod: http?.method ?? "POST",
        requestUri: http?.template.text ?? "/",
        status: http?.status ?? 200,
      };
    })
    .toSorted((left, right) => (left.desc.name < right.desc.name ? -1 : 1));

/** The name that a dialect writes for a member. */
export const writtenName = (field: FieldContract, { dialect }: DialectSpelling): string =>
  dialect.writesPublicNames ? field.publicName : field.wireName;

/**
 * The name of a member in programs: the written one, unless that is not an identifier (`xsi:type`) or is the name of
 * each element of a flattened list (`Object`).
 */
export const memberName = (field: FieldContract, spelling: DialectSpelling): string => {
  const written = writtenName(field, spelling);
  const isElement = field.xml.isFlattened && field.desc.fieldKind === "list";
  return isElement || !/^[A-Za-z]\w*$/.test(written) ? pascalCase(field.desc.name) : written;
};

/** The target header's value without the operation, for the protocol that has one. */
export const targetPrefixOf = ({ api, spelling }: ExportSource): string =>
  spelling.dialect.targetPrefixes[api.name] ?? api.targetPrefix;

/** `customer-profile` -> `Customer Profile`. */
export const titleOf = (apiName: string): string =>
  pascalCase(apiName.replaceAll("-", "_")).replaceAll(/(?!^)([A-Z])/g, " $1");
