import type { DescMethod, DescService } from "@bufbuild/protobuf";

import type { FieldContract, MethodContract, ServiceApi } from "../../services/kit/contract/contract.ts";
import { methodContract, serviceApi } from "../../services/kit/contract/contract.ts";
import { pascalCase } from "../../services/kit/contract/spellings.ts";
import type { FaultTable } from "../../services/kit/faults/service-error.ts";
import { faultTable } from "../../services/kit/faults/service-error.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { services } from "../services.ts";
import type { Describe } from "./proto-comments.ts";
import type { DocumentedError } from "./documented-errors.ts";
import { documentedErrors } from "./documented-errors.ts";

/** Everything that an export of one API is made from. */
export interface ExportSource {
  readonly api: ServiceApi;
  readonly service: DescService;
  readonly faults: FaultTable;
  readonly errors: readonly DocumentedError[];
  readonly spelling: DialectSpelling;
  readonly describe: Describe;
}

/** The four APIs as a dialect spells them. */
export const exportSources = (spelling: DialectSpelling, describe: Describe): ExportSource[] =>
  Object.values(services).map(({ service, errors }) => {
    const api = serviceApi(service);
    const faults = faultTable(errors);
    return {
      api,
      service,
      faults,
      errors: documentedErrors(faults, api.protocol, spelling.dialect),
      spelling,
      describe,
    };
  });

/** An operation and where it stands in HTTP, also where its protocol has one path for all. */
export interface ExportedOperation {
  readonly desc: DescMethod;
  readonly contract: MethodContract;
  readonly httpMethod: string;
  /** As the trait declares it, with labels and literal query parameters. */
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
 * The name that programs use for a member: what is written, unless that is no plain name (`xsi:type`), or names each
 * element of a list that stands directly in its parent (`Object`, of which there are many).
 */
export const memberName = (field: FieldContract, spelling: DialectSpelling): string => {
  const written = writtenName(field, spelling);
  const isElement = field.xml.isFlattened && field.desc.fieldKind === "list";
  return isElement || !/^[A-Za-z]\w*$/.test(written) ? pascalCase(field.desc.name) : written;
};

/** The target header's value less the operation, for the protocol that has one. */
export const targetPrefixOf = ({ api, spelling }: ExportSource): string =>
  spelling.dialect.targetPrefixes[api.name] ?? api.targetPrefix;

/** `customer-profile` -> `Customer Profile`. */
export const titleOf = (apiName: string): string =>
  pascalCase(apiName.replaceAll("-", "_")).replaceAll(/(?!^)([A-Z])/g, " $1");
