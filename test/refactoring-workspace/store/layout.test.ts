import { describe, expect, test } from "vitest";

import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { keyBytes, pretty } from "../../../services/kit/store/table.ts";
import {
  applications,
  clientTokens,
  clientTokensByExpiry,
  environments,
  environmentsByOwner,
  environmentShares,
  environmentVpcs,
  pageTokenKeys,
  resourcePolicies,
  routes,
  services,
} from "../../../services/refactoring-workspace/store/layout.ts";

const hex = (table: Table, key: KeyTuple): string => Buffer.from(keyBytes(table, key)).toString("hex");

describe("the layout", () => {
  test.each<[Table, KeyTuple, string, string]>([
    // table, key, pretty form, bytes
    [pageTokenKeys, ["page-tokens"], 'page_token_keys/"page-tokens"', "0001 706167652d746f6b656e7300"],
    [environments, ["env-0000000001"], 'environments/"env-0000000001"', "0002 656e762d3030303030303030303100"],
    [
      environmentsByOwner,
      ["000000000000", "env-0000000001"],
      'environments_by_owner/"000000000000"/"env-0000000001"',
      "0003 30303030303030303030303000 656e762d3030303030303030303100",
    ],
    [environmentVpcs, ["env-1", "vpc-0a"], 'environment_vpcs/"env-1"/"vpc-0a"', "0004 656e762d3100 7670632d306100"],
    [resourcePolicies, ["env-1"], 'resource_policies/"env-1"', "0005 656e762d3100"],
    [applications, ["env-1", "app-2"], 'applications/"env-1"/"app-2"', "0006 656e762d3100 6170702d3200"],
    [
      services,
      ["env-1", "app-2", "svc-3"],
      'services/"env-1"/"app-2"/"svc-3"',
      "0007 656e762d3100 6170702d3200 7376632d3300",
    ],
    [
      routes,
      ["env-1", "app-2", "rte-4"],
      'routes/"env-1"/"app-2"/"rte-4"',
      "0008 656e762d3100 6170702d3200 7274652d3400",
    ],
    [
      clientTokens,
      ["000000000000", "CreateRoute", "abc"],
      'client_tokens/"000000000000"/"CreateRoute"/"abc"',
      "0009 30303030303030303030303000 437265617465526f75746500 61626300",
    ],
    [
      clientTokensByExpiry,
      [1767323045000, "000000000000", "CreateRoute", "abc"],
      'client_tokens_by_expiry/1767323045000/"000000000000"/"CreateRoute"/"abc"',
      "000a 0000019b7ca98c88 30303030303030303030303000 437265617465526f75746500 61626300",
    ],
    [
      environmentShares,
      ["111111111111", "env-1"],
      'environment_shares/"111111111111"/"env-1"',
      "000b 31313131313131313131313100 656e762d3100",
    ],
  ])("shows the key $2 and writes it as the bytes $3", (table, key, shown, bytes) => {
    expect(pretty(table, key)).toBe(shown);
    expect(hex(table, key)).toBe(bytes.replaceAll(" ", ""));
  });

  test("keeps what a parent holds together and in the order of ids", () => {
    const keys = [
      hex(services, ["env-1", "app-1", "svc-9"]),
      hex(services, ["env-1", "app-2", "svc-1"]),
      hex(services, ["env-1", "app-2", "svc-A"]),
      hex(services, ["env-1", "app-2", "svc-a"]),
      hex(services, ["env-1", "app-20", "svc-0"]),
      hex(services, ["env-10", "app-0", "svc-0"]),
      hex(routes, ["env-0", "app-0", "rte-0"]),
    ];
    expect(keys.toSorted()).toEqual(keys);
  });

  test("finds the oldest client token first", () => {
    const keys = [
      hex(clientTokensByExpiry, [0, "9", "Z", "z"]),
      hex(clientTokensByExpiry, [255, "0", "A", "a"]),
      hex(clientTokensByExpiry, [256, "0", "", ""]),
      hex(clientTokensByExpiry, [256, "0", "", "\u0000"]),
      hex(clientTokensByExpiry, [256, "0", "A", "a"]),
      hex(clientTokensByExpiry, [1767323045000, "0", "A", "a"]),
    ];
    expect(keys.toSorted()).toEqual(keys);
  });
});
