import { expect, test } from "vitest";
import { createScrapeGuard } from "../../../src/observability/scrape-guard.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

type Access = "Allowed" | "Forbidden" | "Unauthenticated";

function setUp(access: (token: string) => Access) {
  const clock = createFakeClock();
  const asked: string[] = [];
  const guard = createScrapeGuard({
    clock,
    review: async (token) => {
      asked.push(token);
      return access(token);
    },
  });
  const statusOf = async (authorization?: string) => (await guard(authorization))?.status ?? 200;
  return { clock, asked, statusOf };
}

test.each<[string | undefined, number]>([
  ["Bearer good", 200],
  ["bearer  good", 200],
  ["Bearer stranger", 403],
  ["Bearer expired", 401],
  [undefined, 401],
  ["", 401],
  ["Bearer", 401],
  ["Bearer two words", 401],
  ["Basic good", 401],
])("%s is answered %d", async (authorization, status) => {
  const { statusOf } = setUp((token) =>
    token === "good" ? "Allowed" : token === "stranger" ? "Forbidden" : "Unauthenticated",
  );
  expect(await statusOf(authorization)).toBe(status);
});

test("without a token nobody is asked", async () => {
  const { statusOf, asked } = setUp(() => "Allowed");
  await statusOf();
  await statusOf("Basic good");
  expect(asked).toEqual([]);
});

test("who was let in is asked about again after a minute, whoever was refused after ten seconds", async () => {
  let access: Access = "Forbidden";
  const { clock, statusOf, asked } = setUp(() => access);
  expect(await Promise.all([statusOf("Bearer a"), statusOf("Bearer a")])).toEqual([403, 403]);
  access = "Allowed";
  await clock.advance(9 * SECOND);
  expect(await statusOf("Bearer a")).toBe(403);
  await clock.advance(SECOND);
  expect(await statusOf("Bearer a")).toBe(200);
  access = "Forbidden";
  await clock.advance(MINUTE - SECOND);
  expect(await statusOf("Bearer a")).toBe(200);
  expect(asked).toHaveLength(2);
  await clock.advance(SECOND);
  expect(await statusOf("Bearer a")).toBe(403);
  expect(asked).toHaveLength(3);
});

test("nobody is let in while the API server does not answer, and it is asked again at once", async () => {
  let fails = true;
  const { statusOf } = setUp(() => {
    if (fails) throw new Error("canary");
    return "Allowed";
  });
  expect(await statusOf("Bearer a")).toBe(503);
  fails = false;
  expect(await statusOf("Bearer a")).toBe(200);
});

test("no flood of refused tokens displaces one that was let in", async () => {
  const { statusOf, asked } = setUp((token) => (token === "good" ? "Allowed" : "Unauthenticated"));
  await statusOf("Bearer good");
  for (let turn = 0; turn < 2_000; turn += 1) await statusOf(`Bearer t${turn}`);
  await statusOf("Bearer good");
  await statusOf("Bearer t1999");
  await statusOf("Bearer t0");
  const times = (token: string) => asked.filter((each) => each === token).length;
  expect([times("good"), times("t1999"), times("t0")]).toEqual([1, 1, 2]);
});

test("a few tokens are asked about at once, and who is known is answered meanwhile", async () => {
  const clock = createFakeClock();
  const asked: string[] = [];
  const hangs = new Promise<Access>(() => undefined);
  const guard = createScrapeGuard({
    clock,
    review: (token) => {
      asked.push(token);
      return token === "good" ? Promise.resolve("Allowed") : hangs;
    },
  });
  expect(await guard("Bearer good")).toBeUndefined();
  for (let turn = 0; turn < 100; turn += 1) void guard(`Bearer t${turn}`);
  expect((await guard("Bearer other"))?.status).toBe(503);
  expect(await guard("Bearer good")).toBeUndefined();
  expect(asked).toHaveLength(9);
});

test("a token that was accepted before has a place of its own beside forged ones, until it is refused", async () => {
  const clock = createFakeClock();
  let good: Access = "Allowed";
  const known: string[] = [];
  const guard = createScrapeGuard({
    clock,
    review: async (token, isKnown) => {
      if (isKnown) known.push(token);
      return token === "good" ? good : new Promise<Access>(() => undefined);
    },
  });
  expect(await guard("Bearer good")).toBeUndefined();
  for (let turn = 0; turn < 100; turn += 1) void guard(`Bearer t${turn}`);
  await clock.advance(2 * MINUTE);
  expect(await guard("Bearer good")).toBeUndefined();
  good = "Unauthenticated";
  await clock.advance(2 * MINUTE);
  expect((await guard("Bearer good"))?.status).toBe(401);
  await clock.advance(2 * MINUTE);
  expect((await guard("Bearer good"))?.status).toBe(503);
  expect(known).toEqual(["good", "good"]);
});
