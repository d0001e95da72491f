import { expect, test } from "vitest";
import {
  endedState,
  keyInList,
  listedKeys,
  mayWork,
  stateInList,
} from "../../../../src/kinds/api-key/rules/listed-keys.ts";
import type { SupersededKey } from "../../../../src/kinds/api-key/rules/status.ts";
import { DAY, MINUTE } from "../../../../src/util/time.ts";
import { superseded } from "./builders.ts";

type State = SupersededKey["state"];

const ENDED = 1_700_000_000_000;
const live = { liveKeyIds: ["sak_1"] };
const withStates = { ...live, listsKeyStates: true, lastKeyListTime: ENDED + MINUTE };
const inactive = { liveKeyIds: ["sak_2"], inactiveKeyIds: ["sak_1"] };

test.each<[State, object, State]>([
  ["Live", live, "Live"],
  ["Live", inactive, "Inactive"],
  ["Live", { liveKeyIds: ["sak_2"] }, "Live"],
  ["Live", {}, "Live"],
  ["Inactive", live, "Live"],
  ["Inactive", inactive, "Inactive"],
  ["Inactive", { liveKeyIds: [] }, "Inactive"],
  ["Inactive", {}, "Inactive"],
  ["Disabled", live, "Disabled"],
  ["Disabled", inactive, "Disabled"],
  ["Deleted", live, "Deleted"],
  ["Expired", live, "Expired"],
  ["Expired", withStates, "Expired"],
  // A list that may be older than the end of the key proves nothing.
  ["Disabled", { ...withStates, lastKeyListTime: ENDED + MINUTE - 1 }, "Disabled"],
  ["Disabled", withStates, "Live"],
  ["Disabled", { ...withStates, listsKeyStates: false }, "Disabled"],
  ["Deleted", { ...withStates, lastKeyListTime: ENDED + MINUTE - 1 }, "Deleted"],
  ["Deleted", withStates, "Live"],
  ["Deleted", { ...withStates, ...inactive }, "Deleted"],
  ["Unknown", withStates, "Live"],
  ["Unknown", { ...withStates, listsKeyStates: false }, "Unknown"],
  ["Unknown", inactive, "Disabled"],
  ["Unknown", { ...withStates, liveKeyIds: ["sak_2"] }, "Unknown"],
])("a superseded key in state %s with the list %o is %s", (state, list, expected) => {
  const key = { keyId: "sak_1", issueTime: ENDED - DAY, state, stateTime: ENDED } as const;
  expect(stateInList(key, listedKeys(list), { keyId: "sak_3" })).toBe(expected);
});

const LISTED = ENDED + 5 * MINUTE;
const lacking = { liveKeyIds: ["sak_2"], lastKeyListTime: LISTED };
const inUse = { keyId: "sak_2" };
const elsewhere = undefined;

test.each<[string, State, object, typeof inUse | undefined, State]>([
  ["with the key in use", "Live", lacking, inUse, "Inactive"],
  ["with the key in use, inactive", "Live", { ...inactive, ...lacking }, inUse, "Inactive"],
  ["without the key in use", "Live", { ...lacking, liveKeyIds: [] }, inUse, "Live"],
  ["too soon after the issue", "Live", { ...lacking, lastKeyListTime: LISTED - 1 }, inUse, "Live"],
  ["of an account that was left", "Live", { ...lacking, listsKeys: true }, elsewhere, "Inactive"],
  ["of a console that has never listed keys", "Live", lacking, elsewhere, "Live"],
  ["of a console that lists no keys", "Live", { listsKeys: true }, elsewhere, "Live"],
  ["after a call", "Unknown", lacking, inUse, "Disabled"],
  ["after a call", "Disabled", lacking, inUse, "Disabled"],
  ["after expiry", "Expired", lacking, inUse, "Expired"],
])("a list that lacks a key, %s: %s", (_, state, list, keyInUse, expected) => {
  const key = superseded(7, { issueTime: ENDED, state });
  expect(stateInList(key, listedKeys(list), keyInUse)).toBe(expected);
});

test("a key that is missing after deleteKey is Deleted", () => {
  const key = superseded(7, { issueTime: ENDED, state: "Unknown", answeredCall: "deleteKey" });
  expect(stateInList(key, listedKeys(lacking), inUse)).toBe("Deleted");
});

test.each(["Deleted", "Unknown"] as const)(
  "a key after deleteKey in state %s is Live again if any later list has it, and is ended again",
  (state) => {
    const key = superseded(1, { state, answeredCall: "deleteKey", stateTime: ENDED });
    const listed = listedKeys({ ...withStates, listsKeyStates: false });
    const expected = { ...key, state: "Live", answeredCall: undefined, stateTime: undefined };
    expect(keyInList(key, listed, undefined)).toEqual(expected);
  },
);

test("a key may work unless a read has shown that it does not", () => {
  const states = ["Live", "Unknown", "Inactive", "Disabled", "Deleted", "Expired"] as const;
  expect(states.filter((state) => mayWork({ state }))).toEqual(["Live", "Unknown"]);
});

test.each<[State, "deleteKey" | "disableKey" | undefined, State]>([
  ["Live", undefined, "Inactive"],
  ["Unknown", "disableKey", "Disabled"],
  ["Unknown", "deleteKey", "Deleted"],
  ["Expired", "deleteKey", "Expired"],
])("a key in state %s after %s that the console no longer has is %s", (state, call, ended) => {
  expect(endedState({ state, answeredCall: call })).toBe(ended);
});
