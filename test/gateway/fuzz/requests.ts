import { CreateDomainCommand } from "@aws-sdk/client-customer-profiles";
import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { apiServices } from "../../../gateway/services.ts";
import type { System } from "../../support/system.ts";
import type { Learned } from "./message-grammar.ts";
import { mutateDraft } from "./mutation.ts";
import type { Random } from "./random.ts";
import type { Draft } from "./request-grammar.ts";
import { draftForm, draftRequest } from "./request-grammar.ts";

const spellings = [spellingOf(svcDialect("svc")), spellingOf(amzDialect)];

/** Operations by API; those that make something come twice as often as their number says. */
const operations = Object.values(apiServices).map(({ service }) => ({
  service,
  names: service.methods.flatMap(({ name }) => (/^(?:Create|Put|Upload)/.test(name) ? [name, name] : [name])),
}));

/** A request of any operation in either dialect, changed here and there. */
export const drawDraft = (random: Random, learned: Learned): Draft => {
  const { service, names } = random.one(operations);
  const spelling = random.one(spellings);
  const draft = random.chance(2)
    ? draftForm(spelling, random)
    : draftRequest(service, random.one(names), spelling, random, learned);
  if (random.chance(55)) return draft;
  for (let count = 1 + random.below(2); count > 0; count -= 1) mutateDraft(draft, random);
  return draft;
};

/** Makes what most requests name, so that they find something. */
export const prepareFuzzing = async ({ clients }: System): Promise<void> => {
  await clients.customerProfile.send(new CreateDomainCommand({ DomainName: "fuzz", DefaultExpirationDays: 1 }));
  for (const Bucket of ["fuzz-photos", "fuzz-plain"])
    await clients.objectStorage.send(new CreateBucketCommand({ Bucket }));
  for (const Key of ["cat.jpg", "a/b", "keep"])
    await clients.objectStorage.send(new PutObjectCommand({ Bucket: "fuzz-photos", Key, Body: "meow" }));
};
