/** The reference of alerts, from the rules as the chart renders them. */

export interface Alert {
  readonly alert: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly description: string };
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

What the chart's PrometheusRule (\`metrics.prometheusRule.create\`) wakes people for. The thresholds in days and minutes are
values of the chart; here they are the defaults. \`critical\`: somebody loses access soon, or nobody takes care any more.
\`warning\`: nothing breaks today.`;

const CLOSING =
  "This page is written by the tests of the chart from its rules; `npm run chart:test -- -u` writes it anew.";

export function toAlertsPage({ groups }: Rules): string {
  const parts = groups.map(
    ({ name, rules }) =>
      `## ${titles[name] ?? name}\n\n${rules.map((rule) => section(rule)).join("\n\n")}`,
  );
  return `${[INTRODUCTION, ...parts, CLOSING].join("\n\n")}\n`;
}

function section({ alert, for: forTime, labels, annotations, expr }: Alert): string {
  const after = forTime === undefined ? "at once" : `after ${forTime}`;
  return [
    `### ${alert}`,
    `\`${labels.severity}\`, ${after}. ${inWords(annotations.summary)}.`,
    inWords(annotations.description),
    `\`\`\`promql\n${expr.trim()}\n\`\`\``,
  ].join("\n\n");
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
