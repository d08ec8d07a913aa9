import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { processNames } from "../../services/launcher/processes.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");

/** The metrics of Prometheus itself. */
const ofPrometheus = ["up"];

/** The names before a selector of labels in an expression. */
const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/\b([a-z][a-z0-9_]*)\{/g)].map(([, name = ""]) => name);

const expressionsOfAlerts = async (): Promise<string[]> =>
  [...(await readFile(join(deploy, "prometheus/alerts.yaml"), "utf8")).matchAll(/^ +expr: (.*)$/gm)].map(
    ([, expression = ""]) => expression,
  );

interface Dashboard {
  readonly panels: ReadonlyArray<{
    readonly title: string;
    readonly targets: ReadonlyArray<{ readonly expr: string }>;
  }>;
}

const expressionsOfDashboard = async (): Promise<string[]> => {
  const { panels } = JSON.parse(await readFile(join(deploy, "grafana/quartet.json"), "utf8")) as Dashboard;
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
};

/** The series that a page of metrics declares, those of histograms with their suffixes. */
const seriesOf = (page: string): string[] =>
  [...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name],
  );

describe("every metric that is named is one that a running system shows:", () => {
  test("alerts and dashboard", async () => {
    const system = await startSystem(await temporaryDirectory());
    onTestFinished(() => system.stop());
    const pages = await Promise.all(
      processNames.map(async (name) => {
        const { admin, rpc } = system.installation.urls(name);
        return (await fetch(`${admin ?? rpc}/metrics`)).text();
      }),
    );
    const known = new Set([...ofPrometheus, ...pages.flatMap(seriesOf)]);
    const [alerts, dashboard] = [await expressionsOfAlerts(), await expressionsOfDashboard()];
    expect([alerts.length, dashboard.length]).toEqual([13, 29]);
    for (const expression of [...alerts, ...dashboard]) {
      const names = metricsIn(expression);
      const unknown = names.filter((name) => !known.has(name));
      expect({ expression, isEmpty: names.length === 0, unknown }).toEqual({ expression, isEmpty: false, unknown: [] });
    }
    for (const page of pages) expect(page).toMatch(/^quartet_build_info\{version="\d+\.\d+\.\d+",node="[\d.]+"\} 1$/m);
    for (const page of pages.slice(0, 4)) expect(page).toMatch(/^disk_low 0$/m);
  });
});

test("each alert has a severity, a summary and a description", async () => {
  const rules = (await readFile(join(deploy, "prometheus/alerts.yaml"), "utf8")).split("- alert: ").slice(1);
  expect(rules).toHaveLength(13);
  for (const rule of rules) expect(rule).toMatch(/severity: (critical|warning)[\s\S]*summary: [\s\S]*description: /);
});
