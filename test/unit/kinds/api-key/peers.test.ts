/** What an ApiKey learns from the others of its account before it calls a listed key lost. */
import { describe, expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import { AttemptRegistry } from "../../../../src/kinds/api-key/attempts.ts";
import { peerKeysOf, unsettledPeerOf } from "../../../../src/kinds/api-key/peers.ts";
import { HOUR, toIso8601 } from "../../../../src/util/time.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { keySpec, NOW, object } from "./builders.ts";

const ACCOUNT = "team-a/bot";
const self = object();

function peer(status: object, spec: object = {}): ApiKey {
  return {
    ...self,
    metadata: { ...self.metadata, name: "other", uid: "other-uid" },
    spec: { ...self.spec, ...spec },
    status,
  } as ApiKey;
}

const attempt = { id: "b1", startTime: toIso8601(NOW) };

function look(peers: readonly ApiKey[], attempts: AttemptRegistry) {
  const caches = cachesWith({ apikeys: { byIndex: () => [self, ...peers] } });
  const context = { caches, clock: { now: () => NOW } } as never;
  return {
    keys: peerKeysOf(self, { serviceAccount: keySpec().serviceAccountRef.name }, context, attempts),
    unsettled: unsettledPeerOf(self, keySpec(), context, attempts),
  };
}

const registry = () => new AttemptRegistry(() => undefined);

describe("a recovery concludes", () => {
  test("not while another issue of the account is under way", () => {
    const attempts = registry();
    attempts.begin("b1", ACCOUNT, "team-a/other");
    expect(look([peer({ attempt })], attempts).keys.isConclusive).toBe(false);
    // Also where no status shows it yet.
    expect(look([], attempts).keys.isConclusive).toBe(false);
    attempts.explain("b1", ACCOUNT, ["sak_b"]);
    const { keys } = look([peer({ attempt })], attempts);
    expect(keys).toMatchObject({ isConclusive: true, known: ["sak_b"] });
  });

  test("not before every other open attempt was looked at, though its object is suspended", () => {
    const attempts = registry();
    const suspended = peer({ attempt }, { suspend: true });
    expect(look([suspended], attempts).keys.isConclusive).toBe(false);
    attempts.leaveUnexplained("b1", ACCOUNT, "team-a/other");
    expect(look([suspended], attempts).keys.isConclusive).toBe(true);
  });

  test("in the end without an object that nobody can look at", () => {
    const old = { ...attempt, startTime: toIso8601(NOW - HOUR) };
    expect(look([peer({ attempt: old })], registry()).keys.isConclusive).toBe(true);
  });
});

describe("an issue waits for a peer", () => {
  test("whose attempt is open and not under way", () => {
    const attempts = registry();
    expect(look([peer({ attempt })], attempts).unsettled).toBe("other");
    attempts.begin("b1", ACCOUNT, "team-a/other");
    expect(look([peer({ attempt })], attempts).unsettled).toBeUndefined();
    attempts.endRun("team-a/other");
    expect(look([peer({ attempt })], attempts).unsettled).toBe("other");
  });

  test("but not for a suspended one, nor for ever", () => {
    const old = { ...attempt, startTime: toIso8601(NOW - HOUR) };
    const others = [peer({ attempt }, { suspend: true }), peer({ attempt: old })];
    expect(look(others, registry()).unsettled).toBeUndefined();
  });
});
