/** Objects of a tenant fail for ever; what the operator logs about each try is one short line. */
import { expect, test } from "vitest";
import { IamError } from "../../src/console/errors.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { systemClock } from "../../src/util/time.ts";

test("a console that refuses connections makes a line of less than half a kilobyte", async () => {
  const lines: string[] = [];
  const sink = { write: (line: string) => lines.push(line), flushSync: () => undefined };
  const { log } = createLogger({ level: "info", format: "json", clock: systemClock, sink });
  const cause = await fetch("http://127.0.0.1:1/").then(
    () => undefined,
    (error: unknown) => error,
  );
  const err = new IamError("Unavailable", "login: no answer", { operation: "login", cause });
  const fields = { controller: "ApiKey", namespace: "team-a", name: "ci", reconcileId: "abcdefgh" };
  log.child(fields).warn({ err, durationMs: 12 }, "reconcile failed, will retry");
  expect(lines.join("")).toContain("Unavailable");
  expect(lines.join("").length).toBeLessThan(512);
});
