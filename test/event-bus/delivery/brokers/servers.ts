import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, copyFile, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { CertificateFiles } from "../../../support/certificates.ts";
import { eventually } from "../../../support/eventually.ts";

/** A broker that runs as a process of its own, with its data in a temporary directory. */
export interface BrokerServer {
  readonly port: number;
  /** Ends the process at once, as a crash does; its data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** Ends the process and removes its data. */
  stop(): Promise<void>;
}

/** A command with its arguments and environment. */
interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: number;
  /** What it prints when it serves its port; unset: it does so as soon as it accepts connections. */
  readonly ready?: string;
}

/** What a server that speaks TLS alone has. */
export interface Encryption {
  readonly files: CertificateFiles;
  /** The password of its user. */
  readonly password: string;
  /** The file of the authority whose certificates clients must show. Unset: none is requested. */
  readonly clients?: string | undefined;
}

/** Ports that are free now. */
const freePorts = async (count: number): Promise<number[]> => {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
};

const accepts = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/** Runs a program until it ends; fails with its output if it fails. */
const run = async (program: Program): Promise<void> => {
  const { ended, output } = launch(program);
  const status = await ended;
  if (status !== 0) throw new Error(`${program.command} ended with ${status}: ${output()}`);
};

const launch = ({ command, args, env, user }: Program) => {
  const child = spawn(command, args, {
    env: { PATH: programPath, ...env },
    cwd: "/",
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...(user !== undefined && { uid: user, gid: user }),
  });
  let output = "";
  const keep = (part: Buffer): void => {
    output = (output + part.toString()).slice(-20_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  // Scripts start the server as a child of theirs, so the whole group is ended.
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  return { ended, kill, output: () => output };
};

/** Starts a server with a directory and ports of its own; `prepare` returns how it is run. */
const startServer = async (
  portCount: number,
  prepare: (directory: string, ports: readonly number[]) => Promise<Program>,
): Promise<BrokerServer> => {
  const directory = await mkdtemp(join(tmpdir(), "quartet-broker-"));
  const ports = await freePorts(portCount);
  const [port = 0] = ports;
  const remove = () => rm(directory, { recursive: true, force: true });
  const program = await prepare(directory, ports).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  let running: ReturnType<typeof launch> | undefined;
  const server: BrokerServer = {
    port,
    async start() {
      const started = launch(program);
      running = started;
      const failure = started.ended.then(() => {
        throw new Error(`${program.command} ended: ${started.output()}`);
      });
      const isReady = async () => started.output().includes(program.ready ?? "") && (await accepts(port));
      await Promise.race([eventually(isReady, `${program.command} accepts connections`), failure]);
      failure.catch(() => {});
    },
    async kill() {
      await running?.kill();
      // A script ends before the server that it started.
      await eventually(async () => !(await accepts(port)), `${program.command} has ended`);
    },
    async stop() {
      await running?.kill();
      await remove();
    },
  };
  await server.start().catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  return server;
};

/**
 * Where programs are looked for: RabbitMQ's own, before the scripts that run it as a user of its own, and those of the
 * system's administrator.
 */
const programPath = `/usr/lib/rabbitmq/bin:${process.env["PATH"]}:/usr/sbin`;

const isInstalled = (command: string): boolean =>
  programPath.split(":").some((directory) => existsSync(join(directory, command)));

/** Whether the servers are installed; their tests are skipped where they are not, which fails in `.ci/run`. */
export const hasNats = (): boolean => isInstalled("nats-server");
export const hasRabbitMq = (): boolean => isInstalled("rabbitmq-server") && isInstalled("epmd");
export const hasRedis = (): boolean => isInstalled("redis-server");
export const hasPostgresql = (): boolean => existsSync(postgresqlBase) && readdirSync(postgresqlBase).length > 0;
export const hasKafka = (): boolean => isInstalled("java") && existsSync(kafkaJars);

/** NATS with JetStream; `config` is added to its configuration file. */
export const startNats = (config = ""): Promise<BrokerServer> =>
  startServer(1, async (directory, [port]) => {
    const file = join(directory, "nats.conf");
    await writeFile(file, `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: "${directory}/data" }\n${config}`);
    return { command: "nats-server", args: ["-c", file] };
  });

/** RabbitMQ without plugins, with the user `guest` and the password `guest`, or that of an encrypted one. */
export const startRabbitMq = async (encryption?: Encryption): Promise<BrokerServer> => {
  const [epmdPort = 0] = await freePorts(1);
  // The registry of Erlang's nodes stays when a node ends, so it is a process that is ended here.
  const registry = launch({ command: "epmd", args: ["-address", "127.0.0.1", "-port", `${epmdPort}`] });
  const server = await startServer(2, async (directory, [port, nodePort]) => {
    await writeFile(join(directory, "plugins"), "[].");
    if (encryption !== undefined) {
      const { files, password, clients } = encryption;
      const lines = [
        "listeners.tcp = none",
        `listeners.ssl.1 = 127.0.0.1:${port}`,
        `ssl_options.certfile = ${files.certificate}`,
        `ssl_options.keyfile = ${files.key}`,
        `default_pass = ${password}`,
        ...(clients === undefined
          ? []
          : [
              `ssl_options.cacertfile = ${clients}`,
              "ssl_options.verify = verify_peer",
              "ssl_options.fail_if_no_peer_cert = true",
            ]),
      ];
      await writeFile(join(directory, "rabbitmq.conf"), lines.join("\n"));
    }
    return {
      command: "rabbitmq-server",
      args: [],
      env: {
        HOME: directory,
        ERL_EPMD_PORT: `${epmdPort}`,
        ERL_EPMD_ADDRESS: "127.0.0.1",
        RABBITMQ_NODENAME: `quartet-${port}@localhost`,
        RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
        RABBITMQ_NODE_PORT: `${port}`,
        RABBITMQ_DIST_PORT: `${nodePort}`,
        RABBITMQ_MNESIA_BASE: join(directory, "data"),
        RABBITMQ_LOG_BASE: join(directory, "log"),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, "plugins"),
        RABBITMQ_CONFIG_FILE: join(directory, "rabbitmq"),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1",
      },
    };
  }).catch(async (error: unknown) => {
    await registry.kill();
    throw error;
  });
  return {
    ...server,
    async stop() {
      await server.stop();
      await registry.kill();
    },
  };
};

/** Redis; `args` are added to its command line, with its port in the place of `PORT`. */
export const startRedis = (...args: readonly string[]): Promise<BrokerServer> =>
  startServer(1, (directory, [port]) =>
    Promise.resolve({
      command: "redis-server",
      args: [
        "--bind",
        "127.0.0.1",
        "--port",
        `${port}`,
        "--dir",
        directory,
        "--save",
        "",
        ...args.map((each) => each.replace("PORT", `${port}`)),
      ],
      // Before, it accepts connections and refuses commands as long as it loads what it has stored.
      ready: "Ready to accept connections",
    }),
  );

/** A node of Redis Cluster that knows no other node and has no slots; `args` as those of `startRedis`. */
export const startRedisNode = async (...args: readonly string[]) => {
  const [busPort = 0] = await freePorts(1);
  const cluster = ["--cluster-enabled", "yes", "--cluster-port", `${busPort}`, "--cluster-node-timeout", "2000"];
  return { busPort, server: await startRedis(...cluster, ...args) };
};

/** The programs of PostgreSQL, in a directory for each of its versions. */
const postgresqlBase = "/usr/lib/postgresql";

/** The directory of PostgreSQL's programs, the latest version if there are several. */
const postgresqlPrograms = async (): Promise<string> => {
  const [latest] = (await readdir(postgresqlBase)).toSorted((one, other) => Number(other) - Number(one));
  return join(postgresqlBase, latest ?? "", "bin");
};

/**
 * PostgreSQL with the user `postgres` and the password `pg-secret`, or that of an encrypted one. It refuses to run as
 * root.
 */
export const startPostgresql = (encryption?: Encryption): Promise<BrokerServer> =>
  startServer(1, async (directory, [port]) => {
    const programs = await postgresqlPrograms();
    // 65534 is the user nobody.
    const user = process.getuid?.() === 0 ? { user: 65_534 } : {};
    if (user.user !== undefined) {
      // The directory of a test run is closed to all others.
      await chmod(tmpdir(), 0o711);
      await chown(directory, user.user, user.user);
    }
    const data = join(directory, "data");
    const password = join(directory, "password");
    await writeFile(password, encryption?.password ?? "pg-secret");
    const options = ["-D", data, "-U", "postgres", "--auth=scram-sha-256", `--pwfile=${password}`, "--no-sync"];
    await run({ command: join(programs, "initdb"), args: options, ...user });
    const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`, "fsync=off"];
    if (encryption !== undefined) {
      const [certificate, key] = [join(data, "server.crt"), join(data, "server.key")];
      await copyFile(encryption.files.certificate, certificate);
      await copyFile(encryption.files.key, key);
      await chmod(key, 0o600);
      if (user.user !== undefined)
        await Promise.all([certificate, key].map((file) => chown(file, user.user, user.user)));
      const { clients } = encryption;
      const asked = clients === undefined ? "" : " clientcert=verify-ca";
      await writeFile(join(data, "pg_hba.conf"), `hostssl all all 127.0.0.1/32 scram-sha-256${asked}\n`);
      settings.push("ssl=on");
      if (clients !== undefined) {
        await copyFile(clients, join(data, "clients.crt"));
        await chmod(join(data, "clients.crt"), 0o644);
        settings.push("ssl_ca_file=clients.crt");
      }
    }
    const args = ["-D", data, "-p", `${port}`, ...settings.flatMap((setting) => ["-c", setting])];
    // Until then it accepts connections and refuses what they ask for.
    const ready = "database system is ready to accept connections";
    return { command: join(programs, "postgres"), args, ready, ...user };
  });

/** Where `.ci/run` puts Kafka, which no package of the system has. */
const kafkaJars = join(import.meta.dirname, ".cache", "kafka");

/** The listeners of Kafka without encryption. */
const plainListeners = ([port, controllerPort]: readonly number[]): string[] => [
  `listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
];

/** Those of one that speaks TLS and accepts the user `ada`; its own calls have another listener. */
const encryptedListeners = async (ports: readonly number[], encryption: Encryption): Promise<string[]> => {
  const { files, password, clients } = encryption;
  const [port, controllerPort, ownPort] = ports;
  const pem = async (file: string): Promise<string> => (await readFile(file, "utf8")).trim().replaceAll("\n", "\\n");
  const plain = "org.apache.kafka.common.security.plain.PlainLoginModule";
  const scram = "org.apache.kafka.common.security.scram.ScramLoginModule";
  return [
    `listeners=SASL_SSL://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort},OWN://127.0.0.1:${ownPort}`,
    "inter.broker.listener.name=OWN",
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,OWN:PLAINTEXT,SASL_SSL:SASL_SSL",
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    `listener.name.sasl_ssl.plain.sasl.jaas.config=${plain} required user_ada="${password}";`,
    `listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=${scram} required;`,
    `listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=${scram} required;`,
    "ssl.keystore.type=PEM",
    `ssl.keystore.certificate.chain=${await pem(files.certificate)}`,
    `ssl.keystore.key=${await pem(files.key)}`,
    ...(clients === undefined
      ? []
      : [
          "listener.name.sasl_ssl.ssl.client.auth=required",
          "ssl.truststore.type=PEM",
          `ssl.truststore.certificates=${await pem(clients)}`,
        ]),
  ];
};

/** Kafka as one node, without a second one for its metadata. */
export const startKafka = (encryption?: Encryption): Promise<BrokerServer> =>
  startServer(3, async (directory, ports) => {
    const [, controllerPort] = ports;
    const jars = (await readdir(kafkaJars)).map((name) => join(kafkaJars, name));
    const file = join(directory, "server.properties");
    const properties = [
      "process.roles=broker,controller",
      "node.id=1",
      `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
      ...(encryption === undefined ? plainListeners(ports) : await encryptedListeners(ports, encryption)),
      "controller.listener.names=CONTROLLER",
      `log.dirs=${join(directory, "data")}`,
      "offsets.topic.replication.factor=1",
      "group.initial.rebalance.delay.ms=0",
      "broker.heartbeat.interval.ms=300",
      "broker.session.timeout.ms=1200",
      "auto.create.topics.enable=false",
      "message.max.bytes=100000",
    ];
    await writeFile(file, properties.join("\n"));
    const java = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars.join(":")];
    const format = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", file];
    if (encryption !== undefined)
      for (const mechanism of ["SCRAM-SHA-256", "SCRAM-SHA-512"])
        format.push("--add-scram", `${mechanism}=[name=ada,password=${encryption.password}]`);
    await run({ command: "java", args: [...java, ...format] });
    return { command: "java", args: [...java, "kafka.Kafka", file] };
  });
