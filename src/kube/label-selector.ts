/** Label selectors by equality: `team=a,tier!=test,owner,!legacy`. */
import { ownEntry } from "../util/own-entry.ts";

type MatchesLabels = (labels: Readonly<Record<string, string>> | undefined) => boolean;

const REQUIREMENT =
  /^(?<not>!)?(?<key>[-_./A-Za-z0-9]+)(?:(?<operator>=|==|!=)(?<value>[-_.A-Za-z0-9]*))?$/;

/** Parses a label selector; `undefined` if it is not valid. The empty selector selects everything. */
export function parseLabelSelector(text: string): MatchesLabels | undefined {
  const requirements: MatchesLabels[] = [];
  for (const part of text.split(",").map((each) => each.trim())) {
    if (part === "" && text.trim() === "") break;
    const groups = REQUIREMENT.exec(part)?.groups;
    if (groups?.key === undefined) return undefined;
    const requirement = toRequirement(groups.key, groups);
    if (requirement === undefined) return undefined;
    requirements.push(requirement);
  }
  return (labels) => requirements.every((matches) => matches(labels));
}

function toRequirement(
  key: string,
  { not, operator, value }: Readonly<Record<string, string | undefined>>,
): MatchesLabels | undefined {
  if (operator === undefined) {
    const wanted = not === undefined;
    return (labels) => Object.hasOwn(labels ?? {}, key) === wanted;
  }
  if (not !== undefined) return undefined;
  return operator === "!="
    ? (labels) => ownEntry(labels, key) !== value
    : (labels) => ownEntry(labels, key) === value;
}
