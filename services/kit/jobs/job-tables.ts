import {
  JobBodySchema,
  JobEntrySchema,
  JobPlace,
  JobStateSchema,
} from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { defineTable, integer, text } from "../store/table.ts";

/**
 * The seven tables of one job queue, numbered from a base in the service's layout.
 *
 * | number | key                  | sorted so that                                                             |
 * |--------|----------------------|----------------------------------------------------------------------------|
 * | base   | id                   | the payload of a job with a large one is found; written once               |
 * | base+1 | id                   | one job's state is found; written with every change of a queue             |
 * | base+2 | at (ms), id          | scheduled: the job that is due next comes first                            |
 * | base+3 | owner, at (ms), id   | ready: one owner's oldest comes first, the next owner is one seek away      |
 * | base+4 | until (ms), id       | leased, in a shared queue: the lease that ends next comes first            |
 * | base+5 | expires (ms), id     | the job whose age ends next comes first                                    |
 * | base+6 | id                   | new: jobs that are in the memory of their process; read at a start only    |
 *
 * A job that its process is about to run has one record, among the new ones: its state with its body. It is moved
 * to the other tables if it is not done after its first run, has no room in memory, or is found at the next start.
 * A job that runs in a queue of one process stays among the new ones or the ready ones.
 *
 * All other jobs have one state and, in the queue that the state names, one entry. An entry that its state does not
 * name remained from a job that was enqueued again under the same id; it is deleted when it is read.
 */
export const jobTables = (baseNumber: number) => ({
  bodies: defineTable({ number: baseNumber, name: "job_bodies", key: [text("id")], value: JobBodySchema }),
  states: defineTable({ number: baseNumber + 1, name: "job_states", key: [text("id")], value: JobStateSchema }),
  scheduled: defineTable({
    number: baseNumber + 2,
    name: "jobs_scheduled",
    key: [integer("at"), text("id")],
    value: JobEntrySchema,
  }),
  ready: defineTable({
    number: baseNumber + 3,
    name: "jobs_ready",
    key: [text("owner"), integer("at"), text("id")],
    value: JobEntrySchema,
  }),
  leased: defineTable({
    number: baseNumber + 4,
    name: "jobs_leased",
    key: [integer("until"), text("id")],
    value: JobEntrySchema,
  }),
  expiring: defineTable({
    number: baseNumber + 5,
    name: "jobs_expiring",
    key: [integer("expires"), text("id")],
    value: JobEntrySchema,
  }),
  fresh: defineTable({ number: baseNumber + 6, name: "jobs_new", key: [text("id")], value: JobStateSchema }),
});

export type JobTables = ReturnType<typeof jobTables>;

export { JobPlace };
