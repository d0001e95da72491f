import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LOGIN } from "./test-client.ts";

test.each(["SIGINT", "SIGTERM"] as const)(
  "runs alone, says how to reach it, and stops on %s even with a call unanswered",
  async (signal) => {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const flags = ["--port", "0", "--control-port", "0", "--username", "eve", "--latency", "1ms"];
    const process_ = spawn(process.execPath, [main, ...flags, "--password", "for-tests"]);
    let printed = "";
    process_.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    await expect.poll(() => printed, { timeout: 10_000 }).toContain("Ctrl-C");
    const url = /IAM console +(\S+)/.exec(printed)?.[1];
    const controlUrl = /control +(\S+)/.exec(printed)?.[1];

    const body = JSON.stringify({ username: "eve", password: "for-tests", domain: "acme" });
    const post = (): Promise<Response> =>
      fetch(`${url}${LOGIN}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
    expect((await post()).status).toBe(200);
    const fault = { operation: "login", fault: { kind: "Silence", when: "AfterCommit" } };
    await fetch(`${controlUrl}/faults`, { method: "POST", body: JSON.stringify(fault) });
    const unanswered = expect(post()).rejects.toThrow();
    const state = async () => (await fetch(`${controlUrl}/state`)).json();
    await expect.poll(state).toMatchObject({ faults: [{ hits: 1 }] });

    process_.kill(signal);
    expect(await once(process_, "exit")).toEqual([0, null]);
    await unanswered;
  },
);
