/** The reference of alerts, from the rules as the chart renders them. */
import { runbooks } from "./runbooks.ts";

export interface Alert {
  readonly alert: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook_url: string;
  };
  readonly expr: string;
}

export interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}

const titles: Readonly<Record<string, string>> = {
  "iam-operator.keys": "Keys",
  "iam-operator.console": "Console and objects",
  "iam-operator.process": "The operator",
};

const INTRODUCTION = `# Alerts

The alerts of the chart's PrometheusRule (\`metrics.prometheusRule.create\`), with the default thresholds. The \`runbook_url\` of an alert links to its section
here, or to a page of yours (\`metrics.prometheusRule.runbookURL\`). [Incidents](incidents.md) has what still works meanwhile.

\`critical\`: a workload loses access soon, no operator is leading, or a connection cannot be used. \`warning\`: nothing breaks today.`;

const CLOSING = "This page is generated from the chart's rules by `npm run chart:test -- -u`.";

export function toAlertsPage({ groups }: Rules): string {
  const parts = groups.map(
    ({ name, rules }) =>
      `## ${titles[name] ?? name}\n\n${rules.map((rule) => section(rule)).join("\n\n")}`,
  );
  return `${[INTRODUCTION, ...parts, CLOSING].join("\n\n")}\n`;
}

function section({ alert, for: forTime, labels, annotations }: Alert): string {
  const after = forTime === undefined ? "immediately" : `after ${forTime}`;
  const { look, fix } = runbooks[alert] ?? fail(`${alert} has no runbook`);
  return [
    `### ${alert}`,
    `\`${labels.severity}\`, ${after}. ${inWords(annotations.summary)}.`,
    inWords(annotations.description),
    `\`\`\`sh\n${look.replaceAll("; ", "\n")}\n\`\`\``,
    fix,
  ].join("\n\n");
}

function fail(message: string): never {
  throw new Error(message);
}

/** Templates as placeholders: NAMESPACE/NAME. */
function inWords(text: string): string {
  return text
    .replace(
      /\{\{ with \$labels\.(\w+) \}\}.*?\{\{ end \}\}/g,
      (_, label) => `${label.toUpperCase()}/`,
    )
    .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => label.toUpperCase())
    .replace(/\{\{[^}]*\$value[^}]*\}\}/g, "VALUE");
}
