import { describe, expect, test } from "vitest";
import type { IamServiceAccount } from "../../../../src/console/model.ts";
import { MarkedAccounts } from "../../../../src/kinds/service-account/marked-accounts.ts";
import {
  orphanedAccountEvents,
  orphanedAccounts,
} from "../../../../src/kinds/service-account/rules/orphaned-accounts.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import type { ObjectKey } from "../../../../src/kube/resource.ts";
import { attemptId, describeAccount } from "../../../../src/resources/marker.ts";
import { DAY, HOUR, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { account, key, NOW, serviceAccount, snapshotOf } from "./objects.ts";

const description = describeAccount("ci", key, attemptId("u1", "abc"));
const earlier = describeAccount("ci", key, attemptId("an-earlier-uid", "abc"));
const marked = (saId: string, text = description) => ({ saId, description: text });
const stored = (saId: string) => ({ saId, observedTime: toIso8601(NOW - 5_000) });

const other = { markedAccounts: [marked("sa-2")] };
const known = { object: serviceAccount({ status: { orphanedAccounts: [stored("sa-3")] } }) };
const attempt = { id: "a", startTime: NOW, name: undefined, described: undefined };

describe("an account is orphaned", () => {
  test.each<[string, Partial<AccountSnapshot>, readonly string[]]>([
    ["if it was created for the object, which has another one", other, ["sa-2"]],
    ["but not the object's own", { markedAccounts: [marked("sa-1")] }, []],
    ["nor one that another object names", { ...other, namedAccounts: new Set(["sa-2"]) }, []],
    ["nor one of an earlier object", { markedAccounts: [marked("sa-2", earlier)] }, []],
    ["nor before the object has an account", { ...other, account: undefined }, []],
    ["nor while a creation is open", { ...other, attempt }, []],
    ["as before, without a list", known, ["sa-3"]],
    ["until another object names it", { ...known, namedAccounts: new Set(["sa-3"]) }, []],
    ["until it is the object's own", { ...known, account: { ...account, saId: "sa-3" } }, []],
    ["until a list lacks it", { ...known, markedAccounts: [] }, []],
    [
      "if it has the object's name and no description",
      { markedAccounts: [marked("sa-2", "")] },
      ["sa-2"],
    ],
  ])("%s", (_, changes, expected) => {
    const found = orphanedAccounts(snapshotOf({ account, ...changes }), NOW);
    expect(found?.map(({ saId }) => saId)).toEqual(expected.length === 0 ? undefined : expected);
  });

  test("with the time of the first list, and with one event", () => {
    const object = serviceAccount({ status: { orphanedAccounts: [stored("sa-2")] } });
    const snapshot = snapshotOf({
      account,
      object,
      markedAccounts: [marked("sa-2"), marked("sa-3")],
    });
    const found = orphanedAccounts(snapshot, NOW);
    expect(found?.map(({ observedTime }) => observedTime)).toEqual([NOW - 5_000, NOW]);
    const notes = orphanedAccountEvents(snapshot, found).map(({ event }) => event.note);
    expect(notes).toEqual([expect.stringContaining("sa-3")]);
  });

  test.each([
    [description, "Description", "was also created for this object"],
    ["", "Name", "another person or program created it"],
  ])("by the description %j: %s", (text, evidence, said) => {
    const snapshot = snapshotOf({ account, markedAccounts: [marked("sa-2", text)] });
    const found = orphanedAccounts(snapshot, NOW);
    expect(found?.map((each) => each.evidence)).toEqual([evidence]);
    const [told] = orphanedAccountEvents(snapshot, found);
    expect(told?.event.note).toContain(said);
  });
});

describe("all accounts of a connection are listed", () => {
  const lists = () => {
    const { lists } = new MarkedAccounts(() => undefined);
    lists.of("c", NOW);
    return lists;
  };

  test.each([
    ["not at once", 14 * MINUTE, false],
    ["a quarter of an hour after the process has first seen it", 15 * MINUTE, true],
  ])("%s", (_, ms, isDue) => expect(lists().beginAudit("c", NOW + ms, false)).toBe(isDue));

  test("by one of those that find the list due", () => {
    const times = lists();
    expect(times.beginAudit("c", NOW + HOUR, false)).toBe(true);
    expect(times.beginAudit("c", NOW + HOUR, false)).toBe(false);
    expect(times.beginAudit("another", NOW + HOUR, false)).toBe(false);
  });

  test("a quarter of an hour after the last creation, whatever was listed before, and then once a day", () => {
    const times = lists();
    times.noteCreation("c", NOW + HOUR);
    times.noteList("c", NOW + HOUR + 14 * MINUTE);
    expect(times.beginAudit("c", NOW + HOUR + 14 * MINUTE, false)).toBe(false);
    expect(times.beginAudit("c", NOW + HOUR + 15 * MINUTE, false)).toBe(true);
    expect(times.beginAudit("c", NOW + DAY + HOUR + 14 * MINUTE, false)).toBe(false);
    expect(times.beginAudit("c", NOW + DAY + HOUR + 15 * MINUTE, false)).toBe(true);
    expect(times.beginAudit("c", NOW + DAY + 2 * HOUR, false)).toBe(false);
  });

  test("at once if a person asks for it, but no more often than every ten seconds", () => {
    const times = lists();
    expect(times.beginAudit("c", NOW + 9_000, true)).toBe(false);
    expect(times.beginAudit("c", NOW + 10_000, true)).toBe(true);
    expect(times.beginAudit("c", NOW + 11_000, true)).toBe(false);
  });

  test("again a quarter of an hour after a list that failed", () => {
    const times = lists();
    expect(times.beginAudit("c", NOW + HOUR, false)).toBe(true);
    times.noteFailedAudit("c", NOW + HOUR);
    expect(times.beginAudit("c", NOW + HOUR + 14 * MINUTE, false)).toBe(false);
    expect(times.beginAudit("c", NOW + HOUR + 15 * MINUTE, false)).toBe(true);
  });
});

test("a list enqueues the objects that its accounts name, once for each change", () => {
  const enqueued: string[] = [];
  const accounts = new MarkedAccounts(({ name }) => void enqueued.push(name));
  expect(accounts.of("c", key)).toBeUndefined();
  const list = [marked("sa-1"), marked("sa-2"), marked("sa-3", "by hand")];
  const stranger = "k8s team-b/ci-bot#x-1";
  const objects = {
    isNamed: (saId: string) => saId === "sa-1",
    isUser: ({ namespace }: ObjectKey) => namespace === key.namespace,
    namesakesOf: ({ name }: IamServiceAccount) => (name === "ci" ? [key] : []),
  };
  accounts.note("c", [...list, { saId: "sa-4", description: stranger }], objects);
  expect(accounts.of("c", key)).toEqual([marked("sa-2")]);
  accounts.note("c", [...list], objects);
  expect(enqueued).toEqual([key.name]);
  accounts.note("c", [], objects);
  expect(accounts.of("c", key)).toEqual([]);
  const silent = ["sa-1", "sa-2", "sa-3"].map((saId) => ({ saId, name: "ci" }));
  accounts.note("c", [...silent, { saId: "sa-4", name: "other" }], objects);
  expect(accounts.of("c", key)).toEqual([marked("sa-2", ""), marked("sa-3", "")]);
  accounts.note("c", [...silent, marked("sa-5")], objects);
  expect(accounts.of("c", key)).toEqual([marked("sa-5")]);
  expect(accounts.of("another", key)).toBeUndefined();
  accounts.lists.noteList("c", NOW);
  accounts.forget("c");
  expect(accounts.lists.of("c", NOW + HOUR).listTime).toBe(NOW + HOUR);
  expect(accounts.of("c", key)).toBeUndefined();
});
