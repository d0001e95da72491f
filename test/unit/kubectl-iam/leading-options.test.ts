import { expect, test } from "vitest";
import { commands } from "../../../src/kubectl-iam/cli/commands.ts";
import { withCommandFirst, withoutOptions } from "../../../src/kubectl-iam/cli/leading-options.ts";
import { nameOf, type OptionName, options } from "../../../src/kubectl-iam/cli/options.ts";
import { runInProcess } from "./support/in-process.ts";

test.each<[string, string]>([
  ["status -A", "status -A"],
  ["--context admin status -A", "status --context admin -A"],
  ["-n team-a -A status x", "status -n team-a -A x"],
  ["--namespace=team-a status", "status --namespace=team-a"],
  ["-nteam-a status", "status -nteam-a"],
  ["--as a console --context b login -o json", "console login --as a --context b -o json"],
  ["--as a console", "console --as a"],
  ["--context status", "--context status"],
  ["--help", "--help"],
  ["--nonsense status", "status --nonsense"],
  ["", ""],
])("%s is read as %s", (given, expected) => {
  const words = given.split(" ").filter((word) => word !== "");
  expect(withCommandFirst(words).join(" ")).toBe(expected);
});

test("the words of a line are those without options and their values", () => {
  expect(withoutOptions(["--context", "admin", "-A", "console", "-n", "a", "login"])).toEqual([
    "console",
    "login",
  ]);
});

/** Every option of every command, so that a new one is accepted before its command, too. */
const rows = commands.flatMap(({ usage, options: taken }) =>
  taken.map(
    (name: OptionName) =>
      [
        usage
          .split(" ")
          .filter((word) => /^[a-z]/.test(word))
          .join(" "),
        name,
      ] as const,
  ),
);

test.each(rows)("%s takes --%s before its name as after it", async (command, name) => {
  const { flags } = options[name];
  // As for kubectl, the value of --dry-run is never the next word.
  const hasValue = flags.includes("<") && nameOf(flags) !== "--dry-run";
  const option = hasValue ? [nameOf(flags), "/nowhere/config"] : [nameOf(flags)];
  const [before, after] = await Promise.all([
    runInProcess([...option, ...command.split(" "), "--help"]),
    runInProcess([...command.split(" "), ...option, "--help"]),
  ]);
  expect(before).toEqual(after);
});
