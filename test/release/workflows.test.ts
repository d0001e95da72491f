/** Jobs that can write packages or releases run nothing that a dependency or an unpinned base image brings. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

const folder = join(import.meta.dirname, "../../.github/workflows");
const workflows = readdirSync(folder).map((file) =>
  parse(readFileSync(join(folder, file), "utf8")),
);
const jobs = workflows.flatMap(({ jobs: all }) => Object.values<Job>(all));

test("a workflow reads, and a job names what it writes", () => {
  for (const { permissions } of workflows) expect(permissions).toEqual({ contents: "read" });
});

test("install scripts of packages run only in jobs that write nothing", () => {
  const writing = jobs.filter(({ permissions = {} }) =>
    Object.values(permissions).includes("write"),
  );
  expect(writing.length).toBeGreaterThan(0);
  const installs = writing
    .flatMap(({ steps }) => steps)
    .filter(({ run = "" }) => /npm (ci|install)|\.ci\/run/.test(run));
  expect(installs.length).toBeGreaterThan(0);
  for (const { run } of installs) expect(run).toContain("--ignore-scripts");
});

test("no checkout leaves the token behind", () => {
  const checkouts = jobs
    .flatMap(({ steps }) => steps)
    .filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
  expect(checkouts.length).toBeGreaterThan(2);
  for (const step of checkouts) expect(step.with).toMatchObject({ "persist-credentials": false });
});

test("the image is built only on a base that is named by its digest", () => {
  const [image] = jobs.filter(({ steps }) =>
    steps.some(({ uses = "" }) => uses.startsWith("docker/build-push-action@")),
  );
  const steps = image?.steps ?? [];
  const check = steps.findIndex(({ run = "" }) => run.includes("@sha256:[0-9a-f]{64}$"));
  const build = steps.findIndex(({ uses = "" }) => uses.startsWith("docker/build-push-action@"));
  expect(check).toBeGreaterThanOrEqual(0);
  expect(check).toBeLessThan(build);
});

test("every action is named by a commit, because its owner can move a tag", () => {
  const actions = jobs.flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
  expect(actions.length).toBeGreaterThan(10);
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40}$/);
});
