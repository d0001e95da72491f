/** What the operator does about the CRDs in the cluster before it leads. */
import { expect, test } from "vitest";
import { fieldPathsOf } from "../../../src/api/field-paths.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { createServedFields } from "../../../src/app/served-fields.ts";
import { type Log, silentLog } from "../../../src/util/log.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { publishedSchemas, readCustomKinds } from "../../../tools/api-server/kinds.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const COMPLETE = { status: 200, body: publishedSchemas(readCustomKinds()) };
const LACKING = { status: 200, body: COMPLETE.body.replace('"lastAttemptId"', '"anotherField"') };
const EMPTY = { status: 200, body: '{"components":{}}' };
const GONE = { status: 404, body: "" };
const FORBIDDEN = { status: 403, body: "" };
const BROKEN = { status: 500, body: "" };
const BUSY = { status: 429, body: "", headers: { "retry-after": "30" } };
const MISSING = "the CRDs lack fields of this version: ApiKey.status.lastAttemptId";

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An operator that starts beside an API server, whose answers a test changes. */
function start(answer: Answer) {
  const clock = new FakeClock();
  const world = {
    answer: answer as Answer,
    isListed: false,
    isComplete: false,
    calls: 0,
    lines: [] as string[],
  };
  const note = (_: object, message: string) => void world.lines.push(message);
  const log: Log = { ...silentLog, error: note, warn: note };
  const send = async () => {
    world.calls += 1;
    const { headers = {} } = world.answer;
    return { status: world.answer.status, headers, body: Buffer.from(world.answer.body) };
  };
  const abort = new AbortController();
  const api = { baseURL: "https://api", send, clock, userAgent: "test" };
  const fields = createServedFields({ api, log, isListed: () => world.isListed });
  const ended = fields.untilComplete(abort.signal).then(() => {
    world.isComplete = true;
  });
  return { world, clock, fields, abort, ended };
}

test("CRDs with every field are read once", async () => {
  const { world, clock, fields } = start(COMPLETE);
  expect(fields.notReady()).toBe("the CRDs have not been compared with this version");
  await clock.advance(MINUTE);
  expect([world.isComplete, world.calls, world.lines]).toEqual([true, 1, []]);
  expect(fields.notReady()).toBeUndefined();
});

test("a missing field is named, logged once, and waited for", async () => {
  const { world, clock, fields } = start(LACKING);
  await clock.advance(MINUTE);
  expect([world.isComplete, fields.notReady()]).toEqual([false, MISSING]);
  expect(world.lines).toEqual(["the CRDs are older than the operator; upgrade them"]);
  world.answer = COMPLETE;
  await clock.advance(8 * SECOND);
  expect([world.isComplete, fields.notReady()]).toEqual([true, undefined]);
});

test.each([
  ["does not publish schemas", GONE],
  ["hides them", FORBIDDEN],
  ["publishes none of these kinds", EMPTY],
])("an API server that %s is believed once all kinds were listed", async (_, answer) => {
  const { world, clock, fields } = start(answer);
  await clock.advance(MINUTE);
  expect([world.isComplete, typeof fields.notReady()]).toEqual([false, "string"]);
  world.isListed = true;
  await clock.advance(8 * SECOND);
  expect([world.isComplete, fields.notReady()]).toEqual([true, undefined]);
});

test("an error is logged once and waited for, even if all kinds were listed", async () => {
  const { world, clock, fields } = start(BROKEN);
  world.isListed = true;
  await clock.advance(MINUTE);
  expect([world.isComplete, typeof fields.notReady()]).toEqual([false, "string"]);
  expect(world.lines).toEqual(["cannot compare the CRDs with this version"]);
});

test("an API server that asks for a pause gets it", async () => {
  const { world, clock } = start(BUSY);
  await clock.advance(29 * SECOND);
  expect(world.calls).toBe(1);
  await clock.advance(SECOND);
  expect(world.calls).toBe(2);
});

test("a stop ends the wait", async () => {
  const { clock, abort, ended, world } = start(LACKING);
  await clock.advance(SECOND);
  const { calls } = world;
  abort.abort();
  await clock.settle();
  await ended;
  expect(world.calls).toBe(calls);
});

test("fields of list items and of objects in objects are compared", () => {
  const paths = kinds.filter(({ kind }) => kind === "ApiKey").flatMap(fieldPathsOf);
  expect(paths).toEqual(
    expect.arrayContaining(["spec.rotation.windows.schedule", "status.superseded.keyId"]),
  );
});
