import { timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { AccessKeyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  GenerateCredentialReportRequest,
  GetCredentialReportRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { Turn } from "../../../services/kit/clock/turn.ts";
import type { Context } from "../application.ts";
import { limits } from "../limits.ts";
import { allUsers, storedUser } from "./user.ts";

/** Nothing has to be made before it is asked for. */
export const generateCredentialReport = async (_request: GenerateCredentialReportRequest) => ({ state: "COMPLETE" });

/** Reports on the keys that were created at run time; what the configuration declares, its own file says. */
export const getCredentialReport = async (_request: GetCredentialReportRequest, context: Context) => {
  const { app, caller } = context;
  const { accountId } = caller;
  const keys = keysByUser(context);
  const { declared, stored } = allUsers(context);
  const root = { name: "<root_account>", arn: `arn:aws:iam::${accountId}:root`, created: declaredTime };
  const users = [
    ...declared.map(({ userName, arn }) => ({ name: userName, arn, created: declaredTime, keys: undefined })),
    ...stored.map((record) => {
      const { userName, arn, createDate } = storedUser(accountId, record);
      return { name: userName, arn, created: timeOf(timestampDate(createDate)), keys: keys.get(userName) ?? [] };
    }),
  ].toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));

  const lines = [columns.join(",")];
  const turn = new Turn();
  for (const { name, arn, created, keys: own } of [{ ...root, keys: keys.get("") }, ...users]) {
    if (turn.isOver) await turn.next();
    const password = name === root.name ? rootPassword : noPassword;
    const credentials = [...password, ...(await keyColumns(context, own)), ...noCertificates];
    lines.push([cell(name), cell(arn), created, ...credentials].join(","));
  }
  return {
    content: Buffer.from(`${lines.join("\n")}\n`),
    reportFormat: "text/csv",
    generatedTime: timestampFromMs(app.clock.now()),
  };
};

const unknown = "N/A";
/** That it has one, its last use, its last and its next change; and a second factor. */
const noPassword = ["false", unknown, unknown, unknown, "false"];
const rootPassword = ["not_supported", "no_information", "not_supported", "not_supported", "false"];
const noCertificates = ["false", unknown, "false", unknown];

const columns = [
  "user",
  "arn",
  "user_creation_time",
  "password_enabled",
  "password_last_used",
  "password_last_changed",
  "password_next_rotation",
  "mfa_active",
  ...["access_key_1", "access_key_2"].flatMap((key) => [
    `${key}_active`,
    `${key}_last_rotated`,
    `${key}_last_used_date`,
    `${key}_last_used_region`,
    `${key}_last_used_service`,
  ]),
  "cert_1_active",
  "cert_1_last_rotated",
  "cert_2_active",
  "cert_2_last_rotated",
];

type Keys = readonly (readonly [id: string, record: AccessKeyRecord])[];

/** The keys of each user by its name, those of the root by an empty one, the oldest first. */
const keysByUser = ({ app, caller }: Context): ReadonlyMap<string, Keys> =>
  Map.groupBy(
    [...app.identities.state(caller.accountId).accessKey].toSorted(([, a], [, b]) => Number(a.createdMs - b.createdMs)),
    ([, { userName }]) => userName,
  );

/** Five columns for each key that there may be. */
const keyColumns = async ({ app, caller }: Context, keys: Keys | undefined): Promise<string[]> => {
  const written: string[] = [];
  for (let index = 0; index < limits.keysPerUserMax; index += 1) {
    const key = keys?.[index];
    if (key === undefined) {
      written.push(keys === undefined ? unknown : "false", unknown, unknown, unknown, unknown);
      continue;
    }
    const [id, { isActive, createdMs }] = key;
    const use = await app.keyUses.find(caller.accountId, id);
    written.push(String(isActive), timeOf(new Date(Number(createdMs))));
    written.push(
      ...(use === undefined
        ? [unknown, unknown, unknown]
        : [timeOf(new Date(Number(use.usedMs))), use.region, use.service]),
    );
  }
  return written;
};

/** Names and paths may have commas and quotation marks. */
const cell = (text: string): string => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Without what is left of the second. */
const timeOf = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, "+00:00");

/** When what is declared was created, as all answers say. */
const declaredTime = timeOf(new Date(0));
