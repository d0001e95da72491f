import { expect, test } from "vitest";
import { nextStatus } from "../../../src/controllers/service-account/report.ts";
import { toIso8601 } from "../../../src/util/time.ts";
import { account, known, NOW, serviceAccount } from "./objects.ts";

const listedAt = toIso8601(NOW - 60_000);
const status = { saId: "sa-1", liveKeyIds: ["sak_1"], keyCount: 1, lastKeyListTime: listedAt };

test.each([
  { name: "stays while the list does", seen: ["sak_1"], unlistedKeyAt: undefined, at: listedAt },
  {
    name: "moves with the list",
    seen: ["sak_1", "sak_2"],
    unlistedKeyAt: NOW - 30_000,
    at: toIso8601(NOW),
  },
  {
    name: "moves past a younger key that the console does not list",
    seen: ["sak_1"],
    unlistedKeyAt: NOW - 30_000,
    at: toIso8601(NOW),
  },
  {
    name: "stays while an older key is missing",
    seen: ["sak_1"],
    unlistedKeyAt: NOW - 90_000,
    at: listedAt,
  },
  {
    name: "is not said where the console lists no keys",
    seen: undefined,
    unlistedKeyAt: undefined,
    at: undefined,
  },
])("the time of the key list $name", ({ seen, unlistedKeyAt, at }) => {
  const observed = { generation: 1, startTime: NOW, nextAt: NOW + 600_000 };
  const seenNow = known({ unlistedKeyAt, memory: { uid: "u1", observed } });
  const progress = {
    object: serviceAccount({ status }),
    account: { ...account, liveKeyIds: seen },
    attempt: undefined,
  };
  const ready = { state: "Ready", reason: "Created", message: "It exists." } as const;
  expect(nextStatus(seenNow, progress, ready, true, NOW).lastKeyListTime).toBe(at);
});
