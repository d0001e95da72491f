import { execFile, spawnSync } from "node:child_process";
import { openSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const logger = new URL("../../../src/observability/logger.ts", import.meta.url).href;
const time = new URL("../../../src/util/time.ts", import.meta.url).href;
const script = `
  import { createLogger } from ${JSON.stringify(logger)};
  import { systemClock } from ${JSON.stringify(time)};
  const { log, flush } = createLogger({ level: "info", format: "json", clock: systemClock });
  for (let n = 0; n < 1000; n += 1) {
    log.info({ n }, "line");
    if (n % 100 === 0) await systemClock.sleep(10);
  }
  log.info({}, "last");
  flush();
  process.exit(7);
`;
const argv = ["--input-type=module-typescript", "--eval", script];

test("every line arrives, in order, the last words of a dying process too", async () => {
  const child = await promisify(execFile)(process.execPath, argv).catch(
    (error: { code: number; stdout: string }) => error,
  );
  const lines = child.stdout.trimEnd().split("\n");
  const numbers = lines.slice(0, -1).map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  expect(lines.at(-1)).toContain('"last"');
});

test.runIf(process.platform === "linux").each(["/dev/full", "closed"])(
  "output that takes nothing (%s) neither stops nor breaks the process",
  (path) => {
    const stdout = path === "closed" ? "ignore" : openSync(path, "w");
    const { status, signal } = spawnSync(process.execPath, argv, {
      stdio: ["ignore", stdout, "inherit"],
      timeout: 10_000,
    });
    expect([status, signal]).toEqual([7, null]);
  },
);
