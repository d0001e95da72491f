import { expect, test } from "vitest";
import { followServerClock } from "../../../src/kubectl-iam/cluster/server-clock.ts";
import { HOUR, SECOND } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** How far the server's clock is ahead after an answer that took `tookMs`. */
async function aheadAfter(date: (sentAt: number) => string | undefined, tookMs = 0) {
  const clock = createFakeClock();
  const sentAt = clock.now();
  const text = date(sentAt);
  const server = followServerClock(async () => {
    await clock.advance(tookMs);
    const headers: Record<string, string> = text === undefined ? {} : { date: text };
    return { status: 200, headers, body: Buffer.from("") };
  }, clock);
  expect(server.now()).toBe(sentAt);
  await server.send({} as never);
  return server.now() - clock.now();
}

const http = (time: number) => new Date(time).toUTCString();

test.each<[string, Parameters<typeof aheadAfter>, number]>([
  ["as it is without the header", [() => undefined], 0],
  ["as it is with a header that is no date", [() => "soon"], 0],
  ["as it is if the header is of the same second", [(at) => http(at)], 0],
  ["as it is if the answer took long", [(at) => http(at + 5 * SECOND), 10 * SECOND], 0],
  ["ahead by an hour", [(at) => http(at + HOUR)], HOUR],
  ["behind by an hour", [(at) => http(at - HOUR)], -HOUR],
])("time is %s", async (_, given, aheadMs) => {
  expect(Math.abs((await aheadAfter(...given)) - aheadMs)).toBeLessThan(SECOND);
});
