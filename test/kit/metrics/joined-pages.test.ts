import { expect, test } from "vitest";

import { joinPages } from "../../../services/kit/metrics/joined-pages.ts";

const page = `# HELP jobs_due Jobs that may run.
# TYPE jobs_due gauge
jobs_due 3

# HELP call_seconds Times.
# TYPE call_seconds histogram
call_seconds_bucket{le="0.1",method="a b"} 1
call_seconds_count{method="a b"} 1
`;

test("joins the lines of each metric, with the process of each, and says whose page is missing", () => {
  const joined = joinPages([
    { process: "gateway", page },
    { process: "event-bus", page: "# HELP jobs_due Jobs that may run.\n# TYPE jobs_due gauge\njobs_due 5\n" },
    { process: "object-storage", page: undefined },
  ]);
  expect(joined).toBe(`# HELP quartet_process_up 1 if the process has answered.
# TYPE quartet_process_up gauge
quartet_process_up{process="gateway"} 1
quartet_process_up{process="event-bus"} 1
quartet_process_up{process="object-storage"} 0
# HELP jobs_due Jobs that may run.
# TYPE jobs_due gauge
jobs_due{process="gateway"} 3
jobs_due{process="event-bus"} 5
# HELP call_seconds Times.
# TYPE call_seconds histogram
call_seconds_bucket{process="gateway",le="0.1",method="a b"} 1
call_seconds_count{process="gateway",method="a b"} 1
`);
});
