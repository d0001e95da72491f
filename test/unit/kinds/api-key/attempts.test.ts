/** Whose attempts for an account are under way or unexplained, and who waits for that to end. */
import { describe, expect, test } from "vitest";
import { AttemptRegistry } from "../../../../src/kinds/api-key/attempts.ts";
import { WaitingLine } from "../../../../src/kinds/api-key/waiting-line.ts";

test("everybody who waits for an account is enqueued once, and one that is gone is not", () => {
  const enqueued: string[] = [];
  const line = new WaitingLine((owner) => enqueued.push(owner));
  line.wait("ns/sa", "a");
  line.wait("ns/sa", "b");
  line.wait("ns/sa", "b");
  line.wait("ns/other", "c");
  line.forget("a");
  line.notify("ns/sa");
  line.notify("ns/sa");
  expect(enqueued).toEqual(["b"]);
});

describe("the registry of attempts", () => {
  const registry = () => {
    const told: string[] = [];
    return { told, attempts: new AttemptRegistry((account) => told.push(account)) };
  };

  test("an attempt is under way until it is explained, taken back, left by its run, or its object gone", () => {
    const ends: readonly ((attempts: AttemptRegistry) => void)[] = [
      (attempts) => attempts.explain("a1", "ns/sa", ["sak_1"]),
      (attempts) => attempts.withdraw("a1"),
      (attempts) => attempts.endRun("ns/ci"),
      (attempts) => attempts.forget("ns/ci"),
    ];
    for (const end of ends) {
      const { attempts } = registry();
      attempts.begin("a1", "ns/sa", "ns/ci");
      attempts.begin("a2", "ns/other", "ns/b");
      attempts.endRun("ns/b");
      expect([attempts.isBusy("ns/sa"), attempts.isBusy("ns/other")]).toEqual([true, false]);
      end(attempts);
      expect(attempts.isBusy("ns/sa")).toBe(false);
    }
  });

  test("one run at a time lists the lost keys of an account", () => {
    const { attempts } = registry();
    expect(attempts.startExplaining("ns/sa", "ns/ci")).toBe(true);
    expect(attempts.startExplaining("ns/sa", "ns/ci")).toBe(true);
    expect(attempts.startExplaining("ns/sa", "ns/b")).toBe(false);
    expect(attempts.startExplaining("ns/other", "ns/b")).toBe(true);
    attempts.endRun("ns/b");
    expect(attempts.startExplaining("ns/sa", "ns/b")).toBe(false);
    attempts.endRun("ns/ci");
    expect(attempts.startExplaining("ns/sa", "ns/b")).toBe(true);
  });

  test("the keys of explained attempts are known by account", () => {
    const { attempts } = registry();
    attempts.explain("a1", "ns/sa", ["sak_1"]);
    attempts.explain("a2", "ns/other", ["sak_2"]);
    expect(attempts.keyIdsOf("ns/sa")).toEqual(["sak_1"]);
    expect([attempts.isExplained("a1"), attempts.isExplained("a3")]).toEqual([true, false]);
  });

  test("others are told of an attempt that they may have waited for, and of no other", () => {
    const { attempts, told } = registry();
    attempts.begin("a1", "ns/sa", "ns/ci");
    attempts.explain("a1", "ns/sa", ["sak_1"]);
    expect(told).toEqual([]);
    attempts.begin("a2", "ns/sa", "ns/ci");
    attempts.endRun("ns/ci");
    expect(attempts.isOpen("a2", "Unexplained")).toBe(true);
    attempts.explain("a2", "ns/sa", []);
    attempts.leaveUnexplained("a3", "ns/other", "ns/b");
    attempts.forget("ns/b");
    expect(told).toEqual(["ns/sa", "ns/other"]);
  });

  test("keys beyond one for an attempt are remembered until their own attempts are closed", () => {
    const { attempts } = registry();
    attempts.explain("a1", "ns/sa", ["sak_1", "sak_2", "sak_3"]);
    attempts.takeSurplus("ns/sa");
    expect([attempts.surplusOf("ns/sa"), attempts.surplusOf("ns/other")]).toEqual([1, 0]);
    attempts.takeSurplus("ns/sa");
    expect(attempts.surplusOf("ns/sa")).toBe(0);
  });
});

test("keeps a bounded number of keys, however many a console lists for each attempt", () => {
  const attempts = new AttemptRegistry(() => undefined);
  const keysOf = (n: number) => Array.from({ length: 5_000 }, (_, key) => `sak_${n}_${key}`);
  for (let n = 0; n < 50; n += 1) attempts.explain(`a-${n}`, `team-a/${n}`, keysOf(n));
  const known = Array.from({ length: 50 }, (_, n) => attempts.keyIdsOf(`team-a/${n}`).length);
  expect(known.reduce((sum, each) => sum + each, 0)).toBe(50_000);
  expect(known.at(-1)).toBe(5_000);
  attempts.addKey("a-49", "team-a/49", "sak_late");
  expect(attempts.keyIdsOf("team-a/49")).toContain("sak_late");
});
