import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { ListEventBusesCommand } from "@aws-sdk/client-eventbridge";
import { CreateBucketCommand, ListBucketsCommand } from "@aws-sdk/client-s3";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";

import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import { openTlsFiles } from "../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../support/certificates.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = join(import.meta.dirname, "..", "..");

test("an installation whose processes show each other certificates serves the official clients by HTTPS", async () => {
  const dataDir = await temporaryDirectory();
  const authority = await createAuthority(dataDir);
  const [own, outside] = [await authority.certify("services"), await authority.certify("gateway")];
  const open = (paths: object) =>
    openTlsFiles({ certificate: "", key: "", authority: authority.file, ...paths }, systemClock, silentLogger);
  const system = await startSystem(dataDir, "error", {
    configuration: {
      tlsCertificate: own.certificate,
      tlsKey: own.key,
      tlsAuthority: authority.file,
      tlsClientCertificates: "required",
      gateway: { certificate: outside.certificate, certificateKey: outside.key },
    },
    tls: { source: open(own) },
    authority: await readFile(authority.file, "utf8"),
  });
  try {
    const { installation, clients } = system;
    expect(installation.gatewayUrl).toMatch(/^https:/);
    await clients.objectStorage.send(new CreateBucketCommand({ Bucket: "sealed" }));
    const { Buckets } = await clients.objectStorage.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual(["sealed"]);
    const { EventBuses } = await clients.eventBus.send(new ListEventBusesCommand({}));
    expect(EventBuses?.map(({ Name }) => Name)).toEqual(["default"]);

    const plain = await fetch(installation.gatewayUrl.replace("https:", "http:"), { method: "DELETE" });
    expect([plain.status, await plain.text()]).toEqual([400, "This port speaks HTTPS: use an https:// address.\n"]);

    const address = installation.urls("event-bus")["rpc"] ?? "";
    const stranger = createTransport({ address, engine: "connect", tls: { source: open({}) } });
    await expect(createClient(Health, stranger).check({})).rejects.toMatchObject({ code: Code.Unavailable });
    await stranger.close();
  } finally {
    await system.stop();
  }
});

describe("the start of a service", () => {
  const start = async (...flags: string[]): Promise<{ status: unknown; output: string }> => {
    const script = join(root, "services", "event-bus", "main.ts");
    const dataDir = await temporaryDirectory();
    const child = spawn(process.execPath, [script, `--data-dir=${dataDir}`, ...flags], { cwd: dataDir });
    const gone = once(child, "exit");
    child.stdout.once("data", () => child.kill("SIGTERM"));
    const output = (await Promise.all([text(child.stdout), text(child.stderr)])).join("");
    return { status: (await gone)[0], output };
  };

  test("warns of an address that other machines reach without TLS", async () => {
    const { output } = await start("--listen=0.0.0.0:0", "--log-level=warn");
    expect(output).toContain("listens without TLS on an address that other machines reach");
  });

  test("is refused when callers must send certificates and no authority is configured", async () => {
    const { status, output } = await start("--tls-client-certificates=required");
    expect([status, output]).toEqual([
      2,
      "event-bus: tlsClientCertificates needs tlsCertificate, tlsKey and tlsAuthority\n",
    ]);
  });
});
