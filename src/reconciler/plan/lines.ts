/** The lines of a plan. Pure. */
import type { PlannedCall } from "../../api/plan.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";

export function writesSecret(secret: KubeObject): PlannedCall {
  const name = keyText(keyOf(secret));
  return { call: "writeSecret", object: name, message: `Writes Secret ${name}.` };
}

export function deletesSecret(secret: KubeObject): PlannedCall {
  const name = keyText(keyOf(secret));
  return { call: "deleteSecret", object: name, message: `Deletes Secret ${name}.` };
}

/** A Secret has one line, however often the plan writes it, and none if the plan deletes what it has written. */
export function withLine(
  lines: readonly PlannedCall[],
  line: PlannedCall | undefined,
): readonly PlannedCall[] {
  if (line === undefined) return lines;
  const write = lines.find(({ call, object }) => call === "writeSecret" && object === line.object);
  if (write === undefined) return [...lines, line];
  if (line.call === "writeSecret") return lines;
  return line.call === "deleteSecret" ? lines.filter((each) => each !== write) : [...lines, line];
}
