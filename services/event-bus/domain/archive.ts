/** The name of the rule that fills an archive; callers see it. */
export const archiveRuleName = (archive: string): string => `${rulePrefix}${archive}`;

const rulePrefix = "Events-Archive-";

/** Whether a rule could be one that fills an archive, by its name. */
export const isArchiveRuleName = (rule: string): boolean => rule.startsWith(rulePrefix);

/** The name of the archive that a rule fills. */
export const archiveNameOfRule = (rule: string): string => rule.slice(rulePrefix.length);

/** The service that manages the rules of archives. */
export const archiveManager = "prod.vhs.events.aws.internal";

/** The pattern of an archive's rule: the archive's pattern, less events that a replay sends. */
export const archiveRulePattern = (pattern: string | undefined): string => {
  const withoutReplays = '"replay-name":[{"exists":false}]';
  if (pattern === undefined) return `{${withoutReplays}}`;
  const inner = pattern.trim().slice(1, -1);
  return `{${inner},${withoutReplays}}`;
};

/** The instant (milliseconds since 1970) before which events are deleted; undefined: events are kept for ever. */
export const retentionStart = (retentionDays: number, nowMs: number): number | undefined =>
  retentionDays === 0 ? undefined : Math.max(0, nowMs - retentionDays * 86_400_000);
