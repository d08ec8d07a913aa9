import {
  CreateDomainCommand,
  CreateProfileCommand,
  SearchProfilesCommand,
  UpdateProfileCommand,
} from "@aws-sdk/client-customer-profiles";
import { DescribeRuleCommand, PutEventsCommand, PutRuleCommand } from "@aws-sdk/client-eventbridge";
import {
  CreateEnvironmentCommand,
  ListTagsForResourceCommand,
  TagResourceCommand,
} from "@aws-sdk/client-migration-hub-refactor-spaces";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
} from "@aws-sdk/client-s3";

import type { ProcessName } from "../../services/launcher/processes.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import type { System } from "../support/system.ts";
import { deliverTo } from "./deliver-to.ts";

/**
 * Something that is written again and again, each time with the next generation, counted from 1. What is stored of a
 * generation follows from its number, in more than one member, so that half a write is seen.
 */
export interface Writable {
  readonly name: string;
  /** The process that stores it. */
  readonly owner: ProcessName;
  write(generation: number): Promise<void>;
  /** The stored generation; 0 before the first one. Rejects if what is stored is of no single generation. */
  read(): Promise<number>;
}

/** The nth content of an object; every fifth write deletes it instead. */
const sizes = [10, 3_000, 70_000, 300_000];
const isDeletion = (generation: number): boolean => generation % 5 === 0;
const contentOf = (generation: number): Buffer =>
  Buffer.alloc(sizes[generation % sizes.length] ?? 0, `generation ${generation};`);

/** Objects, some deleted now and then; the stored metadata and the whole content must be of one generation. */
const objectOf = ({ clients }: System, key: string): Writable => {
  const object = { Bucket: "rounds", Key: key };
  let deleted = 0;
  return {
    name: `object ${key}`,
    owner: "object-storage",
    async write(generation) {
      if (isDeletion(generation)) {
        // An absent object has no generation: it may be that of this deletion once it was sent.
        deleted = generation;
        await clients.objectStorage.send(new DeleteObjectCommand(object));
        return;
      }
      const Body = contentOf(generation);
      await clients.objectStorage.send(
        new PutObjectCommand({ ...object, Body, Metadata: { generation: `${generation}` } }),
      );
    },
    async read() {
      try {
        const got = await clients.objectStorage.send(new GetObjectCommand(object));
        const generation = Number(got.Metadata?.["generation"]);
        const content = Buffer.from((await got.Body?.transformToByteArray()) ?? []);
        if (!content.equals(contentOf(generation))) throw new Error(`${key} is torn`);
        return generation;
      } catch (error) {
        if (error instanceof NoSuchKey) return deleted;
        throw error;
      }
    },
  };
};

/** Profiles that are found by the phone of their generation; record and index must agree. */
const profileOf = ({ clients }: System, profileId: string, prefix: string): Writable => {
  const phoneOf = (generation: number): string => `+1${prefix}${`${generation}`.padStart(6, "0")}`;
  let sent = 0;
  const find = async (generation: number): Promise<boolean> => {
    const search = { DomainName: "rounds", KeyName: "_phone", Values: [phoneOf(generation)] };
    const { Items = [] } = await clients.customerProfile.send(new SearchProfilesCommand(search));
    if (Items.some(({ LastName }) => LastName !== `${generation}`)) throw new Error(`profile ${prefix} is torn`);
    return Items.length === 1;
  };
  return {
    name: `profile ${prefix}`,
    owner: "customer-profile",
    async write(generation) {
      sent = generation;
      await clients.customerProfile.send(
        new UpdateProfileCommand({
          DomainName: "rounds",
          ProfileId: profileId,
          LastName: `${generation}`,
          PhoneNumber: phoneOf(generation),
        }),
      );
    },
    async read() {
      const found: number[] = [];
      for (const generation of [sent - 1, sent]) if (await find(generation)) found.push(generation);
      if (found.length !== 1) throw new Error(`profile ${prefix} is found by ${found.length} phones of ${sent}`);
      return found[0]!;
    },
  };
};

/** Rules whose pattern and description must be of one generation. */
const ruleOf = ({ clients }: System, name: string): Writable => ({
  name: `rule ${name}`,
  owner: "event-bus",
  async write(generation) {
    const EventPattern = JSON.stringify({ source: [`generation ${generation}`] });
    await clients.eventBus.send(new PutRuleCommand({ Name: name, Description: `${generation}`, EventPattern }));
  },
  async read() {
    const { Description, EventPattern = "" } = await clients.eventBus.send(new DescribeRuleCommand({ Name: name }));
    if (!EventPattern.includes(`generation ${Description}"`)) throw new Error(`rule ${name} is torn`);
    return Number(Description);
  },
});

/** Two tags of one environment. */
const tagsOf = ({ clients }: System, ResourceArn: string, prefix: string): Writable => ({
  name: `tags ${prefix}`,
  owner: "refactoring-workspace",
  async write(generation) {
    const Tags = { [`${prefix}-one`]: `${generation}`, [`${prefix}-two`]: `${generation}` };
    await clients.workspace.send(new TagResourceCommand({ ResourceArn, Tags }));
  },
  async read() {
    const { Tags = {} } = await clients.workspace.send(new ListTagsForResourceCommand({ ResourceArn }));
    const [one, two] = [Tags[`${prefix}-one`], Tags[`${prefix}-two`]];
    if (one !== two) throw new Error(`tags ${prefix} are torn`);
    return Number(one);
  },
});

/** The events that an endpoint has received, by what their details name. */
class DeliveredEvents {
  readonly #endpoint: HttpReceiver;
  readonly #generations = new Map<string, Set<number>>();
  #readCount = 0;

  constructor(endpoint: HttpReceiver) {
    this.#endpoint = endpoint;
  }

  of(name: string): ReadonlySet<number> {
    const { received } = this.#endpoint;
    for (; this.#readCount < received.length; this.#readCount += 1) {
      const { detail } = JSON.parse(received[this.#readCount]!.body.toString()) as { detail: EventDetail };
      const generations = this.#generations.get(detail.name) ?? new Set();
      this.#generations.set(detail.name, generations.add(detail.generation));
    }
    return this.#generations.get(name) ?? new Set();
  }
}

interface EventDetail {
  readonly name: string;
  readonly generation: number;
}

/** Events, each of which must reach an endpoint once it was answered. */
const eventOf = ({ clients }: System, delivered: DeliveredEvents, name: string): Writable => {
  let answered = 0;
  /** All up to this one are known to be delivered. */
  let known = 0;
  return {
    name: `event ${name}`,
    owner: "event-bus",
    async write(generation) {
      const Detail = JSON.stringify({ name, generation } satisfies EventDetail);
      const entry = { Source: "rounds", DetailType: "Round", Detail };
      const { FailedEntryCount } = await clients.eventBus.send(new PutEventsCommand({ Entries: [entry] }));
      if (FailedEntryCount !== 0) throw new Error("the event was refused");
      answered = generation;
    },
    read() {
      const generations = delivered.of(name);
      for (; known < answered; known += 1)
        if (!generations.has(known + 1)) return Promise.reject(new Error(`event ${known + 1} is not delivered`));
      // The one after it may have been accepted without an answer.
      return Promise.resolve(generations.has(known + 1) ? known + 1 : known);
    },
  };
};

/** Creates what is written to, in all four services, and writes the first generation of each. */
export const prepareWritables = async (
  system: System,
  endpoint: HttpReceiver,
  perService: number,
): Promise<Writable[]> => {
  const { objectStorage, customerProfile, workspace } = system.clients;
  await objectStorage.send(new CreateBucketCommand({ Bucket: "rounds" }));
  await customerProfile.send(new CreateDomainCommand({ DomainName: "rounds", DefaultExpirationDays: 1 }));
  const environment = await workspace.send(
    new CreateEnvironmentCommand({ Name: "rounds", NetworkFabricType: "TRANSIT_GATEWAY" }),
  );
  const role = { endpoint: system.installation.gatewayUrl, credentials: system };
  await deliverTo(system.clients, "rounds", `${endpoint.url}/events`, role);
  const delivered = new DeliveredEvents(endpoint);
  const writables: Writable[] = [];
  for (let index = 10; index < 10 + perService; index += 1) {
    const profile = await customerProfile.send(new CreateProfileCommand({ DomainName: "rounds", FirstName: "Ada" }));
    writables.push(
      objectOf(system, `objects/${index}`),
      profileOf(system, profile.ProfileId ?? "", `555${index}`),
      ruleOf(system, `rule-${index}`),
      eventOf(system, delivered, `event-${index}`),
      tagsOf(system, environment.Arn ?? "", `tag-${index}`),
    );
  }
  for (const writable of writables) await writable.write(1);
  return writables;
};
