import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";

import {
  address,
  choice,
  ConfigError,
  describeSettings,
  integer,
  list,
  loadConfig,
  networks,
  printConfig,
  secret,
  text,
} from "../../../services/kit/config/config.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const shared = {
  dataDir: text("./data", "Data."),
  logLevel: choice(["info", "warn"], "Lines."),
  secretKey: secret("Key."),
};
const store = {
  listen: address("127.0.0.1:50054", "Listen."),
  partsMax: integer(10, "Parts.", 1, 100),
  hosts: list(["localhost"], "Hosts."),
};
const installation = {
  shared,
  processes: { "object-storage": store, gateway: { timeoutMs: integer(5, "Limit.", 0, 9) } },
  sections: { pens: z.record(z.string(), z.string().regex(/^[a-z]+$/, "must have small letters")) },
};

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});

const load = (given: { argv?: string[]; env?: Record<string, string> } = {}) =>
  loadConfig(installation, "object-storage", store, { argv: given.argv ?? [], env: given.env ?? {}, directory });

describe("loadConfig", () => {
  test("answers the defaults when nothing is set", () => {
    expect(load()).toEqual({
      dataDir: "./data",
      logLevel: "info",
      secretKey: "",
      listen: { host: "127.0.0.1", port: 50054 },
      partsMax: 10,
      hosts: ["localhost"],
    });
  });

  test("takes flags over variables over the file over defaults", async () => {
    await writeFile(
      join(directory, "quartet.json"),
      '{"dataDir":"/file","logLevel":"warn","objectStorage":{"partsMax":20,"listen":"[::1]:7"}}',
    );
    const seen = load({
      argv: ["--parts-max=40", "--data-dir", "/flag"],
      env: { QUARTET_OBJECT_STORAGE_PARTS_MAX: "30", QUARTET_OBJECT_STORAGE_LISTEN: "0.0.0.0:8" },
    });
    expect(seen).toMatchObject({
      dataDir: "/flag",
      logLevel: "warn",
      partsMax: 40,
      listen: { host: "0.0.0.0", port: 8 },
    });
  });

  test("reads lists from the file as arrays and from variables with commas", async () => {
    await writeFile(join(directory, "quartet.json"), '{"objectStorage":{"hosts":["a.example","b.example"]}}');
    expect(load().hosts).toEqual(["a.example", "b.example"]);
    expect(load({ env: { QUARTET_OBJECT_STORAGE_HOSTS: "c.example, d.example" } }).hosts).toEqual([
      "c.example",
      "d.example",
    ]);
  });

  test("refuses a process's own secret as a flag with the place of its section", () => {
    const own = { webhookKey: secret("Key.") };
    const sources = { argv: ["--webhook-key=hush"], env: {}, directory };
    expect(() => loadConfig(installation, "object-storage", own, sources)).toThrow(
      new ConfigError(
        "--webhook-key would show a secret to all who list processes; " +
          "set QUARTET_OBJECT_STORAGE_WEBHOOK_KEY or objectStorage.webhookKey in the configuration file",
      ),
    );
  });

  test("reads the file that --config names and refuses one that is absent", async () => {
    const named = join(directory, "other.json");
    await writeFile(named, '{"dataDir":"/named"}');
    expect(load({ argv: ["--config", named] }).dataDir).toBe("/named");
    expect(() => load({ argv: ["--config", join(directory, "none.json")] })).toThrow(/none\.json does not exist$/);
  });

  const asFlag =
    "--secret-key would show a secret to all who list processes; " +
    "set QUARTET_SECRET_KEY or secretKey in the configuration file";

  // given as, message
  test.each([
    [{ argv: ["listen"] }, '"listen" is not a flag; flags begin with --'],
    [{ argv: ["--listen"] }, "--listen needs a value"],
    [{ argv: ["--listen", "--parts-max", "4"] }, "--listen needs a value"],
    [{ argv: ["--", "4"] }, '"--" is not a flag; flags begin with --'],
    [{ argv: ["-l", "4"] }, "object-storage has no flag -l; --help lists them"],
    [{ argv: ["--colour=red"] }, "object-storage has no flag --colour; --help lists them"],
    [{ argv: ["--timeout-ms=3"] }, "object-storage has no flag --timeout-ms; --help lists them"],
    [{ argv: ["--secret-key=hush"] }, asFlag],
    [{ argv: ["--secret-key", "hush"] }, asFlag],
    [{ argv: ["--secret-key"] }, asFlag],
    [{ env: { QUARTET_COLOUR: "red" } }, "QUARTET_COLOUR is not a setting of this installation"],
    [{ argv: ["--parts-max=0"] }, "--parts-max must be a whole number from 1 to 100"],
    [{ argv: ["--parts-max=1e1"] }, "--parts-max must be a whole number from 1 to 100"],
    [{ argv: ["--listen=8080"] }, "--listen must be host:port, for example 127.0.0.1:8080"],
    [{ argv: ["--listen=a:70000"] }, "--listen must be host:port, for example 127.0.0.1:8080"],
    [{ env: { QUARTET_LOG_LEVEL: "loud" } }, "QUARTET_LOG_LEVEL must be one of info, warn"],
  ])("refuses %j", (given, message) => {
    expect(() => load(given)).toThrow(new ConfigError(message));
  });

  // content of quartet.json, message
  test.each([
    [
      '{"colour":1}',
      "quartet.json: colour is not known; known are $schema, dataDir, logLevel, secretKey, objectStorage, gateway, pens",
    ],
    [
      '{"objectStorage":{"colour":1}}',
      "quartet.json: objectStorage.colour is not known; known are listen, partsMax, hosts",
    ],
    ['{"objectStorage":3}', "quartet.json: objectStorage must be an object"],
    ['{"logLevel":"loud"}', "quartet.json: logLevel must be one of info, warn"],
    ['{"logLevel":1}', "quartet.json: logLevel must be one of info, warn"],
    ['{"dataDir":null}', "quartet.json: dataDir must be a string"],
    [
      '{"objectStorage":{"partsMax":"20"}}',
      "quartet.json: objectStorage.partsMax must be a whole number from 1 to 100",
    ],
    ['{"objectStorage":{"partsMax":101}}', "quartet.json: objectStorage.partsMax must be a whole number from 1 to 100"],
    ['{"objectStorage":{"partsMax":1.5}}', "quartet.json: objectStorage.partsMax must be a whole number from 1 to 100"],
    ['{"objectStorage":{"hosts":"a.example"}}', "quartet.json: objectStorage.hosts must be a list"],
    ['{"objectStorage":{"hosts":[1]}}', "quartet.json: objectStorage.hosts[0] must be a string"],
    [
      '{"objectStorage":{"listen":"8080"}}',
      "quartet.json: objectStorage.listen must be host:port, for example 127.0.0.1:8080",
    ],
    ['{"gateway":{"timeoutMs":10}}', "quartet.json: gateway.timeoutMs must be a whole number from 0 to 9"],
    ['{"pens":{"7":"RED"}}', 'quartet.json: pens["7"] must have small letters'],
    ['{"pens":{"__proto__":"RED"}}', "quartet.json: __proto__ is not a possible name"],
    ["[]", "quartet.json: it must be an object"],
  ])("refuses a file with %s", async (content, message) => {
    await writeFile(join(directory, "quartet.json"), content);
    expect(() => load()).toThrow(new ConfigError(message));
  });

  test("refuses a file that is not JSON, says where and quotes nothing of it", async () => {
    await writeFile(join(directory, "quartet.json"), '{\n  "secretKey": "hush"\n  "dataDir": 1');
    expect(() => load()).toThrow(new ConfigError("quartet.json: it is not JSON (line 3, column 3)"));
  });

  test("lets a file name the schema that editors check it by", async () => {
    await writeFile(join(directory, "quartet.json"), '{"$schema":"./quartet.schema.json"}');
    expect(load().dataDir).toBe("./data");
  });

  test("takes another process's variables without using them", () => {
    expect(load({ env: { QUARTET_GATEWAY_TIMEOUT_MS: "3" } })).not.toHaveProperty("timeoutMs");
  });
});

describe("a setting of networks", () => {
  const own = { trustedProxies: networks("Proxies.") };
  const loadOwn = (given: string) =>
    loadConfig(
      { ...installation, shared: own },
      "gateway",
      {},
      {
        argv: [],
        env: { QUARTET_TRUSTED_PROXIES: given },
        directory,
      },
    );

  test("takes addresses and networks", () => {
    expect(loadOwn("192.0.2.7, fd00::/8")).toEqual({ trustedProxies: ["192.0.2.7", "fd00::/8"] });
  });

  test("refuses anything else by its place", () => {
    expect(() => loadOwn("10.0.0.0/8,lb.example")).toThrow(
      new ConfigError("QUARTET_TRUSTED_PROXIES[1] must be an address or a network, for example 10.0.0.0/8"),
    );
  });
});

describe("describeSettings", () => {
  test("lists flag, variable, default and description of each setting", () => {
    const own = { heading: "Own", process: "object-storage", table: store, hasFlags: true };
    expect(describeSettings(own).split("\n")).toEqual([
      "Own:",
      "  --listen  (QUARTET_OBJECT_STORAGE_LISTEN; default 127.0.0.1:50054)",
      "      Listen.",
      "  --parts-max  (QUARTET_OBJECT_STORAGE_PARTS_MAX; default 10)",
      "      Parts.",
      "  --hosts  (QUARTET_OBJECT_STORAGE_HOSTS; default localhost)",
      "      Hosts.",
    ]);
  });

  test("names a secret and settings that are no flags without dashes", () => {
    const table = { secretKey: shared.secretKey };
    expect(describeSettings({ heading: "Shared", table, hasFlags: true }).split("\n")).toEqual([
      "Shared:",
      "  secretKey, no flag  (QUARTET_SECRET_KEY; default none)",
      "      Key.",
    ]);
    const [, first] = describeSettings({ heading: "x", process: "gateway", table: store, hasFlags: false }).split("\n");
    expect(first).toBe("  listen  (QUARTET_GATEWAY_LISTEN; default 127.0.0.1:50054)");
  });
});

describe("printConfig", () => {
  test("hides secrets", () => {
    const config = load({ env: { QUARTET_SECRET_KEY: "hush" } });
    expect(printConfig([shared, store], config).split("\n")).toEqual([
      "dataDir = ./data",
      "logLevel = info",
      "secretKey = [hidden]",
      "listen = 127.0.0.1:50054",
      "partsMax = 10",
      "hosts = localhost",
    ]);
  });
});
