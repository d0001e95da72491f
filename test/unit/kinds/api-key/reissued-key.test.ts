/** The console answers issueKey with the ID of a key that the ApiKey already has. */
import { expect, test } from "vitest";
import { verdictKey } from "../../../../src/kinds/api-key/rules/verification.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { DAY, HOUR } from "../../../../src/util/time.ts";
import {
  account,
  at,
  checked,
  current,
  delivered,
  firstOf,
  having,
  holding,
  NOW,
  openAttempt,
  pair,
  play,
  same,
  staged,
  superseded,
} from "./builders.ts";

const secret = new Redacted("n".repeat(43));
const reissue = (of: number, revision: number) => ({
  ...pair(of),
  secret,
  issueTime: NOW,
  revision,
});

test("a superseded key is not ended while its new pair waits for the console", () => {
  const old = superseded(1, { supersededTime: NOW - 2 * DAY });
  const snapshot = delivered({
    account: { ...account, canDisableKeys: true },
    target: holding(pair(2)),
    status: { current: current(2), superseded: [old], attempt: openAttempt(3) },
  });
  const waiting = {
    ...snapshot,
    pending: staged(reissue(1, 3)),
    verdicts: new Map([...checked("sak_2"), ...checked("sak_1", "Rejected")]),
  };
  expect([...play(waiting, at(HOUR))]).toMatchObject([
    { kind: "NoteStaged" },
    { reason: "Verifying" },
  ]);
  const status = { ...snapshot.status, attempt: undefined };
  const idle = { ...snapshot, status, verdicts: checked("sak_2") };
  expect(firstOf(idle, play(idle, at(HOUR)))).toMatchObject({ kind: "DisableKey" });
});

test("the verdict on the pair in use says nothing about a new pair with the same key ID", () => {
  const snapshot = delivered({
    pending: staged(reissue(1, 2)),
    status: { current: current(1), attempt: openAttempt(2) },
  });
  const given = having(
    { NoteStaged: same },
    { ...snapshot, verdicts: checked("sak_1", "Rejected") },
  );
  expect(firstOf(given)).toMatchObject({ kind: "VerifyPair" });
});

test.each([
  ["an earlier key stays for the overlap", pair(1), pair(1)],
  ["the earlier secret of the same key is not kept", { ...pair(2), revision: 1 }, undefined],
])("when a new pair is switched to, %s", (_, before, previous) => {
  const snapshot = delivered({
    target: holding(before),
    pending: staged(reissue(2, 2)),
    status: { current: current(1, { keyId: before.keyId }), attempt: openAttempt(2) },
  });
  const verdicts = checked(verdictKey(reissue(2, 2), snapshot));
  const step = firstOf(having({ NoteStaged: same }, { ...snapshot, verdicts }));
  expect(step).toMatchObject({ kind: "SwitchSecret" });
  expect(step).toHaveProperty("previous", previous);
});
