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

/** Title of each group, and the first command for its alerts. */
const groupTexts: Readonly<Record<string, readonly [title: string, look?: string]>> = {
  "iam-operator.keys": ["Keys", "kubectl describe iamkey NAME -n NAMESPACE"],
  "iam-operator.console": ["Console and objects"],
  "iam-operator.process": [
    "The operator",
    "kubectl logs -n iam-operator-system -l app.kubernetes.io/name=iam-operator --prefix --tail=200",
  ],
};

const INTRODUCTION = `# Alerts

The alerts of the chart's PrometheusRule (\`metrics.prometheusRule.create\`), with the default thresholds. The \`runbook_url\` of an alert links to its section
here, or to a page of yours (\`metrics.prometheusRule.runbookURL\`). [Incidents](incidents.md) has what still works meanwhile,
[troubleshooting](troubleshooting.md) what to do about the reason of a condition.

\`critical\`: a workload loses access soon, no operator is leading, or a connection cannot be used. \`warning\`: nothing breaks today.`;

const CLOSING = "This page is generated from the chart's rules by `npm run chart:test -- -u`.";

export function toAlertsPage({ groups }: Rules): string {
  const parts = groups.flatMap(({ name, rules }) => {
    const [title, look] = groupTexts[name] ?? fail(`${name} has no title`);
    return [`## ${title}`, ...commandsOf(look), ...rules.map(section)];
  });
  return `${[INTRODUCTION, ...parts, CLOSING].join("\n\n")}\n`;
}

function section({ alert, for: forTime, labels, annotations }: Alert): string {
  const after = forTime === undefined ? "immediately" : `after ${forTime}`;
  const { look, fix } = runbooks[alert] ?? fail(`${alert} has no runbook`);
  return [
    `### ${alert}`,
    `\`${labels.severity}\`, ${after}. ${inWords(annotations.summary)}.`,
    // A command is in the block.
    ...(annotations.description.includes("kubectl") ? [] : [inWords(annotations.description)]),
    ...commandsOf(look),
    ...(fix === undefined ? [] : [fix]),
  ].join("\n\n");
}

const commandsOf = (look?: string) =>
  look === undefined ? [] : [`\`\`\`sh\n${look.replaceAll("; ", "\n")}\n\`\`\``];

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
