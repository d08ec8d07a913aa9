import type { Policy } from "./document.ts";

/**
 * What is wrong with an identity policy that could be evaluated, but would not do what its author means: a sentence, or
 * undefined. Asked where policies are accepted, not where they are evaluated, so that what was kept stays readable.
 */
export const identityGrammarProblem = ({ statements }: Policy): string | undefined => {
  for (const { sid = "", resource } of statements) {
    if (!/^[0-9A-Za-z]*$/.test(sid))
      return "Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the regular expression [0-9A-Za-z]*";
    const unlike = resource?.entries.find((entry) => entry !== "*" && !isArnPattern(entry));
    if (unlike !== undefined) return `Resource ${unlike} must be in ARN format or "*".`;
  }
  return undefined;
};

/** An ARN in which parts may be patterns or variables, or the beginning of one that ends with a star. */
const isArnPattern = (text: string): boolean => {
  if (!text.startsWith("arn:")) return false;
  const [, partition = "", service = "", , , ...rest] = text.split(":");
  if (rest.length === 0) return text.endsWith("*");
  return partition !== "" && service !== "" && rest.join(":") !== "";
};
