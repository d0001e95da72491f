/** Keys that an API server has forgotten since it was restored. */
import { expect, test } from "vitest";
import { keysBeforeRestore } from "../../../../src/kinds/api-key/rules/keys-before-restore.ts";
import { keyStatusCodec, type OrphanedKey } from "../../../../src/kinds/api-key/rules/status.ts";
import { current, NOW, noKeys, object, superseded } from "./builders.ts";

const orphan = (keyId: string | undefined, attemptId: string): OrphanedKey => ({
  ...{ keyId, attemptId, serviceAccount: "bot", saId: "sa-1" },
  ...{ expirationTime: NOW, observedTime: NOW, late: undefined },
});

test("keys that only the earlier status lists are lost, unless they had ended or have no ID", () => {
  const before = {
    ...noKeys,
    current: current(5),
    superseded: [
      superseded(1, { state: "Deleted" }),
      superseded(2, { state: "Expired" }),
      superseded(3),
      superseded(4),
    ],
    orphaned: [orphan("sak_6", "a6"), orphan(undefined, "a7")],
  };
  const now = { ...noKeys, current: current(3) };
  const [earlier, later] = [before, now].map((status) => object(keyStatusCodec.encode(status)));
  const lost = keysBeforeRestore(earlier as never, later as never, NOW);
  expect(lost.map(({ keyId }) => keyId)).toEqual(["sak_5", "sak_4", "sak_6"]);
});
