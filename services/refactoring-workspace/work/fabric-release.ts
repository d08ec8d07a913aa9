import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { FabricReleasePayload } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { FabricReleasePayloadSchema } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Job, JobOutcome, JobPolicy, NewJob } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { Fabric } from "../fabric/fabric.ts";
import { limits } from "../limits.ts";
import { jobOwner } from "./job-pools.ts";

/** The kind of the jobs that release network resources. */
export const fabricReleaseKind = "fabric-release";

/** A release is repeated until it succeeds. */
export const fabricReleasePolicy: JobPolicy = {
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: Number.POSITIVE_INFINITY,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: 60 * 60 * 1000 }),
};

/** The environment or application that network resources are provisioned for. */
export interface FabricOwner {
  readonly accountId: string;
  readonly resource: Exclude<FabricReleasePayload["resource"], { readonly case: undefined }>;
}

/** Network resources that will be released unless they are kept. */
export interface Provisioned<T> {
  readonly value: T;
  /** Keeps the resources if the transaction commits, which must record them. Rejects if it is too late. */
  keep(transaction: Transaction): Promise<void>;
}

/** The dependencies of `FabricReleases`. */
export interface FabricReleasesSettings {
  readonly store: Store;
  readonly clock: Clock;
  readonly fabric: Fabric;
  /** Adds a job when the transaction commits. */
  readonly enqueue: (transaction: Transaction, job: NewJob) => void;
  /** Removes a job when the transaction commits; resolves to false if there is none. */
  readonly cancel: (transaction: Transaction, jobId: string) => Promise<boolean>;
}

/**
 * Makes sure that the fabric holds nothing for long that no record needs. The job that releases a resource is stored
 * before the resource is provisioned, and removed by the transaction that records it; deleting the record stores it
 * again.
 */
export class FabricReleases {
  readonly #settings: FabricReleasesSettings;

  constructor(settings: FabricReleasesSettings) {
    this.#settings = settings;
  }

  /** Provisions network resources for an owner that has none yet. */
  async provision<T>(owner: FabricOwner, creation: () => Promise<T>): Promise<Provisioned<T>> {
    const { store, clock, cancel } = this.#settings;
    const releaseMs = clock.now() + limits.unrecordedFabricMs;
    await store.transact((transaction) => this.#enqueue(transaction, owner, releaseMs));
    const value = await creation();
    return {
      value,
      keep: async (transaction) => {
        const isKept = clock.now() < releaseMs && (await cancel(transaction, jobIdOf(owner)));
        if (!isKept) throw new Error(`provisioning for ${owner.resource.value} took too long; it is released again`);
      },
    };
  }

  /** Releases the network resources of an owner after the transaction, which must delete its record. */
  release(transaction: Transaction, owner: FabricOwner): void {
    this.#enqueue(transaction, owner, this.#settings.clock.now());
  }

  /** Runs one job. */
  readonly run = async (job: Job): Promise<JobOutcome> => {
    const { fabric } = this.#settings;
    const { accountId, resource } = fromBinary(FabricReleasePayloadSchema, job.payload);
    if (resource.case === "environmentId") await fabric.deleteTransitGateway(accountId, resource.value);
    if (resource.case === "applicationId") await fabric.deleteProxy(accountId, resource.value);
    return { done: true };
  };

  #enqueue(transaction: Transaction, owner: FabricOwner, dueMs: number): void {
    this.#settings.enqueue(transaction, {
      id: jobIdOf(owner),
      kind: fabricReleaseKind,
      owner: jobOwner("releases", owner.accountId),
      dueMs,
      payload: toBinary(FabricReleasePayloadSchema, create(FabricReleasePayloadSchema, owner)),
    });
  }
}

const jobIdOf = ({ resource }: FabricOwner): string => `${fabricReleaseKind} ${resource.value}`;
