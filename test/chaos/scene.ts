/** What every chaos scenario works with: servers of its own, many objects, and the books at the end. */

import { setTimeout as sleep } from "node:timers/promises";
import type { RequestRecord } from "../../tools/iam-server/request-log.ts";
import { type Stock, takeStock } from "../real-world/ledger.ts";
import { type OwnServers, startServers } from "../real-world/servers.ts";
import { until } from "../real-world/until.ts";
import type { World } from "../real-world/world.ts";

export interface Size {
  readonly accounts: number;
  readonly keysPerAccount: number;
}

export interface Scene {
  readonly servers: OwnServers;
  readonly world: World;
  readonly size: Size;
  readonly say: (line: string) => void;
  /** Calls 5 that have arrived at the console. */
  readonly posts: readonly RequestRecord[];
  /** Those of the process at work that are not answered yet. */
  openPosts(): number;
  /** To be called after a kill: calls of the dead are never answered. */
  forgetOpenPosts(): void;
  createAccounts(): Promise<void>;
  /** The ApiKeys of these rounds: one of each account per round. */
  createKeys(fromRound?: number, toRound?: number): Promise<void>;
  /** Waits until this many calls 5 are under way; answers whether that came about. */
  busy(posts: number, timeoutMs?: number): Promise<boolean>;
  /** Waits until every object is in order, or until for so long no more of them have come to be. */
  settle(patienceMs?: number): Promise<Stock>;
  close(): Promise<void>;
}

/** How long the console thinks about a new key. */
export const ISSUE_MS = 1_000;
const POLL_MS = 1_000;
const TOLD_EVERY_MS = 10_000;

export async function openScene(size: Size, say: (line: string) => void): Promise<Scene> {
  const servers = await startServers();
  const world = await servers.openWorld({ latencyMs: 5, concurrency: 64 });
  // Who is killed while an account is created must be able to find it: the first page has not all of them.
  world.iam.shapes = { ...world.iam.shapes, serviceAccountPaging: "ignored" };
  const posts: RequestRecord[] = [];
  world.iam.faults.add({
    operation: "issueKey",
    fault: { kind: "Slow", ms: ISSUE_MS / 2 },
    times: "always",
    where: (request) => posts.push(request) > 0,
  });
  const accounts = Array.from({ length: size.accounts }, (_, index) => `account-${index}`);
  let ofTheLiving = 0;
  const openPosts = () =>
    posts.slice(ofTheLiving).filter(({ status }) => status === undefined).length;
  return {
    servers,
    world,
    size,
    say,
    posts,
    openPosts,
    forgetOpenPosts: () => {
      ofTheLiving = posts.length;
    },
    createAccounts: () => world.createAccounts(accounts),
    createKeys: (from = 0, to = size.keysPerAccount) =>
      world.createKeys(
        Array.from({ length: to - from }, (_, round) =>
          accounts.map((account, index) => ({
            name: `key-${from + round}-${index}`,
            account,
            // A day's budget is for days with fewer crashes.
            spec: { maxIssuesPerDay: 100 },
          })),
        ).flat(),
      ),
    busy: (wanted, timeoutMs = 180_000) =>
      until("work", () => openPosts() >= wanted, timeoutMs, 5).then(
        () => true,
        () => false,
      ),
    settle: (patienceMs = 240_000) => untilInOrder(() => takeStock(world), say, patienceMs),
    close: () => servers.close(),
  };
}

/** Takes stock until all is in order, or nothing gets better any more. */
async function untilInOrder(
  take: () => Promise<Stock>,
  say: (line: string) => void,
  patienceMs: number,
): Promise<Stock> {
  const progress = followProgress(say);
  for (;;) {
    // Where everything is busy or down, the books can wait as well.
    const stock = await take().catch(() => undefined);
    if (stock?.stuck.length === 0) return stock;
    if (progress.note(stock) > patienceMs) return stock ?? take();
    await sleep(POLL_MS);
  }
}

/** Says now and then how far it is. */
function followProgress(say: (line: string) => void) {
  let [toldAt, betterAt, inOrder] = [performance.now(), performance.now(), -1];
  return {
    /** Answers for how many milliseconds nothing has become better. */
    note(stock: Stock | undefined): number {
      const now = performance.now();
      const count = stock === undefined ? inOrder : stock.objects - stock.stuck.length;
      if (count > inOrder) [inOrder, betterAt] = [count, now];
      if (now - toldAt > TOLD_EVERY_MS) {
        toldAt = now;
        say(`${count} in order`);
      }
      return now - betterAt;
    },
  };
}
