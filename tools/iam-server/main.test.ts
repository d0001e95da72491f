import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LOGIN } from "./test-client.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

test("a port that is in use is named, with the flags for others", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const child = spawn(process.execPath, [main, "--port", String(port), "--control-port", "0"]);
  const [[status], said] = await Promise.all([once(child, "exit"), text(child.stderr)]);
  other.close();
  expect(status).toBe(1);
  expect(said).toBe(
    `error: listen EADDRINUSE: address already in use 127.0.0.1:${port}; --port and --control-port name other ports\n`,
  );
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "runs alone, says how to reach it, and stops on %s even with a call unanswered",
  async (signal) => {
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
