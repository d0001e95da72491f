/** Every task that takes flags tells them, and answers a wrong one with a line. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const sources = ["scripts", "test", "tools"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => join(folder, name)),
);
const tasks = sources.flatMap((file) => {
  const [, task] =
    /const values = readFlags\("([-a-z]+)"/m.exec(readFileSync(join(root, file), "utf8")) ?? [];
  return task === undefined ? [] : [[task, file] as const];
});

test("the first contact of a user is among them", () => {
  expect(tasks.map(([task]) => task)).toEqual(expect.arrayContaining(["cluster", "iam-server"]));
});

test.each(tasks.filter(([task]) => ["cluster", "iam-server"].includes(task)))(
  "%s",
  (task, file) => {
    const run = (flag: string) =>
      spawnSync(process.execPath, [join(root, file), flag], { encoding: "utf8" });
    const help = run("--help");
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toMatch(new RegExp(`^Usage: npm run ${task} -- \\[flags\\]\n  --`));
    const wrong = run("--no-such-flag");
    expect(wrong).toMatchObject({ status: 2, stdout: "" });
    expect(wrong.stderr).toMatch(/^Unknown option '--no-such-flag'\.\nUsage: npm run /);
  },
);

test("no task reads flags in another way", () => {
  const runner = readFileSync(join(root, "scripts/run.mjs"), "utf8");
  const files = [...runner.matchAll(/command: \["((?:scripts|test|tools)\/[^"]+\.ts)"/g)].map(
    ([, file = ""]) => file,
  );
  expect(files.length).toBeGreaterThan(8);
  const others = files.filter((file) =>
    /\bparseArgs\(\{/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(others).toEqual([]);
});
