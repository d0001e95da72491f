/** Which of two ApiKeys with one Secret owns it. */
import { expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import { otherClaimOn } from "../../../../src/kinds/api-key/secret-claims.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { keySpec, object } from "./builders.ts";

const created = (day: number) => ({ creationTimestamp: `2026-01-0${day}T00:00:00Z` });
const withKey = { status: { current: { keyId: "sak_1" } } };
const withAttempt = { status: { attempt: { id: "a1" } } };
const deleted = { metadata: { ...created(1), deletionTimestamp: "2026-01-03T00:00:00Z" } };

function apiKey(name: string, changes: object): ApiKey {
  const { metadata, status }: { metadata?: object; status?: object } = changes as never;
  const spec = keySpec({ secret: { name: "shared" } });
  const base = object();
  return {
    ...base,
    spec,
    metadata: { ...base.metadata, name, uid: name, ...metadata },
    ...(status === undefined ? {} : { status }),
  } as ApiKey;
}

test.each<[string, object, object, string | undefined]>([
  ["an older one", { metadata: created(2) }, { metadata: created(1) }, "other"],
  ["no younger one", { metadata: created(1) }, { metadata: created(2) }, undefined],
  ["no older one without a key", withKey, { metadata: created(1) }, undefined],
  ["one with a key", { metadata: created(1) }, { metadata: created(2), ...withKey }, "other"],
  ["one with a key before one that gets it", withAttempt, withKey, "other"],
  ["one that gets a key", { metadata: created(1) }, withAttempt, "other"],
  [
    "no older one that is being deleted without a key",
    { metadata: created(2) },
    deleted,
    undefined,
  ],
])("an ApiKey leaves the Secret to %s", (_, own, other, claimedBy) => {
  const self = apiKey("self", own);
  const rival = apiKey("other", other);
  const apikeys = { get: () => undefined, byIndex: () => [self, rival] };
  expect(otherClaimOn(self, cachesWith({ apikeys }))?.apiKey).toBe(claimedBy);
});
