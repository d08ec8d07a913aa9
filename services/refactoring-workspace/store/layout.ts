/**
 * The map of the refactoring workspace database in byte order.
 *
 *     1  page_token_keys          name                                    -> SecretKey (the kit's own table)
 *     2  environments             environment id                          -> EnvironmentRecord
 *     3  environments_by_owner    account, environment id                 -> IndexRecord
 *     4  environment_vpcs         environment id, vpc id                  -> EnvironmentVpcRecord
 *     5  resource_policies        environment id                          -> ResourcePolicyRecord
 *     6  applications             environment id, application id          -> ApplicationRecord
 *     7  services                 environment id, application id, service id -> ServiceRecord
 *     8  routes                   environment id, application id, route id   -> RouteRecord
 *     9  client_tokens            account, operation, token               -> ClientTokenRecord
 *    10  client_tokens_by_expiry  expiry, account, operation, token       -> IndexRecord
 *    11  environment_shares       account or *, environment id            -> IndexRecord
 *    64  the seven tables of jobs (the kit's own)
 *
 * Identifiers are random and unique in the installation. Every key begins with the parents, so that the children of a
 * parent are one range, for its listing and for the check that it is empty.
 */
import {
  ApplicationRecordSchema,
  ClientTokenRecordSchema,
  EnvironmentRecordSchema,
  EnvironmentVpcRecordSchema,
  IndexRecordSchema,
  ResourcePolicyRecordSchema,
  RouteRecordSchema,
  ServiceRecordSchema,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { jobTables } from "../../kit/jobs/job-tables.ts";
import { pageTokenKeyTable } from "../../kit/page-tokens/page-token-key.ts";
import { assertDistinct, defineTable, integer, text } from "../../kit/store/table.ts";

/**
 * The key of the page tokens.
 * Sorted so that it is found by its name.
 * Written alone.
 *
 *     page_token_keys/"page-tokens"
 *     0001 706167652d746f6b656e7300
 */
export const pageTokenKeys = pageTokenKeyTable(1);

/**
 * Environments.
 * Sorted so that one is found by its identifier.
 * Written with environments_by_owner.
 *
 *     environments/"env-0000000001"
 *     0002 656e762d3030303030303030303100
 */
export const environments = defineTable({
  number: 2,
  name: "environments",
  key: [text("environment id")],
  value: EnvironmentRecordSchema,
});

/**
 * Which environments an account owns.
 * Sorted so that an account's environments are listed by identifier.
 * Written with environments.
 *
 *     environments_by_owner/"000000000000"/"env-0000000001"
 *     0003 30303030303030303030303000 656e762d3030303030303030303100
 */
export const environmentsByOwner = defineTable({
  number: 3,
  name: "environments_by_owner",
  key: [text("account"), text("environment id")],
  value: IndexRecordSchema,
});

/**
 * The VPCs of an environment's services.
 * Sorted so that an environment's are listed by identifier.
 * Written with services.
 *
 *     environment_vpcs/"env-1"/"vpc-0a"
 *     0004 656e762d3100 7670632d306100
 */
export const environmentVpcs = defineTable({
  number: 4,
  name: "environment_vpcs",
  key: [text("environment id"), text("vpc id")],
  value: EnvironmentVpcRecordSchema,
});

/**
 * The policies of environments.
 * Sorted so that one is found by its environment.
 * Written with environment_shares; deleted with environments.
 *
 *     resource_policies/"env-1"
 *     0005 656e762d3100
 */
export const resourcePolicies = defineTable({
  number: 5,
  name: "resource_policies",
  key: [text("environment id")],
  value: ResourcePolicyRecordSchema,
});

/**
 * Applications.
 * Sorted so that an environment's applications are listed by identifier.
 * Written alone.
 *
 *     applications/"env-1"/"app-2"
 *     0006 656e762d3100 6170702d3200
 */
export const applications = defineTable({
  number: 6,
  name: "applications",
  key: [text("environment id"), text("application id")],
  value: ApplicationRecordSchema,
});

/**
 * Services.
 * Sorted so that an application's services are listed by identifier.
 * Written with environment_vpcs.
 *
 *     services/"env-1"/"app-2"/"svc-3"
 *     0007 656e762d3100 6170702d3200 7376632d3300
 */
export const services = defineTable({
  number: 7,
  name: "services",
  key: [text("environment id"), text("application id"), text("service id")],
  value: ServiceRecordSchema,
});

/**
 * Routes.
 * Sorted so that an application's routes are listed by identifier, and read whole when it is compiled.
 * Written with the job that checks the service, while there is one.
 *
 *     routes/"env-1"/"app-2"/"rte-4"
 *     0008 656e762d3100 6170702d3200 7274652d3400
 */
export const routes = defineTable({
  number: 8,
  name: "routes",
  key: [text("environment id"), text("application id"), text("route id")],
  value: RouteRecordSchema,
});

/**
 * The answer to the first call with each client token.
 * Sorted so that one is found by its caller, operation and token.
 * Written with client_tokens_by_expiry and with the created resource.
 *
 *     client_tokens/"000000000000"/"CreateRoute"/"abc"
 *     0009 30303030303030303030303000 437265617465526f75746500 61626300
 */
export const clientTokens = defineTable({
  number: 9,
  name: "client_tokens",
  key: [text("account"), text("operation"), text("token")],
  value: ClientTokenRecordSchema,
});

/**
 * When client tokens expire, in milliseconds.
 * Sorted so that the oldest are found first.
 * Written with client_tokens.
 *
 *     client_tokens_by_expiry/1767323045000/"000000000000"/"CreateRoute"/"abc"
 *     000a 0000019b7ca98c88 30303030303030303030303000 437265617465526f75746500 61626300
 */
export const clientTokensByExpiry = defineTable({
  number: 10,
  name: "client_tokens_by_expiry",
  key: [integer("expiry"), text("account"), text("operation"), text("token")],
  value: IndexRecordSchema,
});

/**
 * Which accounts the policies of environments name; `*` where one names everybody.
 * Sorted so that the environments that may be shared with an account are listed by identifier.
 * Written with resource_policies.
 *
 *     environment_shares/"111111111111"/"env-1"
 *     000b 31313131313131313131313100 656e762d3100
 */
export const environmentShares = defineTable({
  number: 11,
  name: "environment_shares",
  key: [text("account or *"), text("environment id")],
  value: IndexRecordSchema,
});

/** The first number of the tables that hold jobs. */
export const jobTablesBase = 64;

/** Every table of this database but those of jobs. */
export const layout = [
  pageTokenKeys,
  environments,
  environmentsByOwner,
  environmentVpcs,
  resourcePolicies,
  applications,
  services,
  routes,
  clientTokens,
  clientTokensByExpiry,
  environmentShares,
] as const;

assertDistinct([...layout, ...Object.values(jobTables(jobTablesBase))]);
