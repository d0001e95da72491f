/** A console that answers ids which would mean something else in a file, a header or a path, or another account. */
import { expect, test } from "vitest";
import { failureOf } from "../unit/console/clients.ts";
import { clientAnswered } from "./hostile-console.ts";

const breaks = ["\n", "\r", "\u0000", "\u001b", "\u007f", "\u0085", "\u2028", "\u2029"];
const KEY = { description: "d", expiresInDays: 1 };
const ACCOUNT = { orgId: "o", projectId: "p", name: "n", description: "d" };

test.each(breaks)("a key with %j in its id or secret is malformed", async (character) => {
  const text = `sak_1${character}ADMIN=1`;
  for (const pair of [
    { keyId: text, secret: "s" },
    { keyId: "sak_1", secret: text },
  ]) {
    const failure = await failureOf(
      (await clientAnswered(pair)).issueKey({ saId: "sa-1", ...KEY }),
    );
    expect(failure.code).toBe("MalformedResponse");
    expect(failure.message).not.toContain("ADMIN");
  }
});

test.each(breaks)(
  "an account with %j in its saId is malformed, in its tpn has none",
  async (one) => {
    const wrongId = await clientAnswered({ saId: `sa${one}1` });
    expect(await failureOf(wrongId.createServiceAccount(ACCOUNT))).toMatchObject({
      code: "MalformedResponse",
    });
    const wrongTpn = await clientAnswered({ saId: "sa-1", tpn: `tpn${one}1` });
    expect(await wrongTpn.createServiceAccount(ACCOUNT)).toEqual({ saId: "sa-1" });
  },
);

test("an answer about another account than the one asked for is malformed", async () => {
  const client = await clientAnswered({ saId: "sa-victim", keys: [] });
  const failure = await failureOf(client.getServiceAccount("sa-mine"));
  expect(failure).toMatchObject({ code: "MalformedResponse", operation: "getServiceAccount" });
  expect((await client.getServiceAccount("sa-victim"))?.keyIds).toEqual([]);
});

test("more characters of key ids than a status should hold are a list that cannot be read", async () => {
  const listOf = async (count: number) => {
    const keys = Array.from({ length: count }, (_, n) => `${n}-`.padEnd(250, "x"));
    return (await clientAnswered({ saId: "sa-1", keys })).getServiceAccount("sa-1");
  };
  expect((await listOf(1_000))?.keyIds).toHaveLength(1_000);
  expect(await listOf(1_100)).toEqual({ saId: "sa-1", keyIds: undefined });
});
