/** A server's clock as its responses show it: steps of the process's own clock do not matter, nor does one odd response. */
import { describe, expect, test } from "vitest";
import { ServerClock } from "../../../src/http/server-clock.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const date = "Thu, 01 Jan 2026 12:00:10 GMT";
const SHOWN = Date.parse(date);
const ago = (ms: number) => ({ date: new Date(SHOWN - ms).toUTCString() });

function setUp() {
  const clock = createFakeClock();
  const server = new ServerClock(clock);
  return {
    clock,
    server,
    note: (shown: { date: string }) => server.note(shown, clock.monotonic()),
  };
}

describe("a response", () => {
  test.each<[string, Record<string, string>, number | undefined]>([
    ["shows the time in the middle of its call", { date }, SHOWN + SECOND / 2 + SECOND],
    ["from a cache shows no time", { date, age: "3" }, undefined],
    ["without a date shows no time", {}, undefined],
    ["with a broken date shows no time", { date: "yesterday" }, undefined],
  ])("%s", async (_, headers, time) => {
    const { clock, server } = setUp();
    const sentAt = clock.monotonic();
    await clock.advance(2 * SECOND);
    server.note(headers, sentAt);
    expect(server.now()).toBe(time);
  });

  test("that is slow shows no time: it may have been sent at any moment", async () => {
    const { clock, server } = setUp();
    const sentAt = clock.monotonic();
    await clock.advance(MINUTE / 2 + 1);
    server.note({ date }, sentAt);
    expect(server.now()).toBeUndefined();
  });
});

test("the time goes on with the monotonic clock, whatever the wall clock does", async () => {
  const { clock, server, note } = setUp();
  note({ date });
  await clock.advance(HOUR);
  clock.jump(-DAY);
  expect(server.now()).toBe(SHOWN + SECOND / 2 + HOUR);
});

test("a drift is followed at once, a step when the next response confirms it", () => {
  const { server, note } = setUp();
  note({ date });
  note(ago(4 * MINUTE));
  expect(server.now()).toBe(SHOWN + SECOND / 2 - 4 * MINUTE);
  note(ago(DAY));
  expect(server.now()).toBe(SHOWN + SECOND / 2 - 4 * MINUTE);
  note(ago(DAY + MINUTE));
  expect(server.now()).toBe(SHOWN + SECOND / 2 - DAY - MINUTE);
});

test("single odd responses are not believed, as often as they come", () => {
  const { server, note } = setUp();
  note({ date });
  for (let count = 0; count < 5; count += 1) {
    note(ago(DAY));
    note({ date });
    note(ago(-DAY));
    expect(server.now()).toBe(SHOWN + SECOND / 2);
  }
});

describe("a clock that contradicts all others", () => {
  test("is overruled after a day, and counts again once it agrees", async () => {
    const { clock, server } = setUp();
    const note = (aheadMs: number) =>
      server.note(ago(-clock.monotonic()), clock.monotonic(), SHOWN + clock.monotonic() + aheadMs);
    note(HOUR);
    await clock.advance(DAY - 1);
    note(HOUR);
    expect(server.isOverruled).toBe(false);
    await clock.advance(1);
    expect(server.isOverruled).toBe(true);
    note(MINUTE);
    expect(server.isOverruled).toBe(false);
  });

  test("is not overruled while the others contradict each other", async () => {
    const { clock, server } = setUp();
    server.note({ date }, clock.monotonic(), SHOWN + HOUR);
    server.note({ date }, clock.monotonic());
    await clock.advance(2 * DAY);
    expect(server.isOverruled).toBe(false);
  });
});
