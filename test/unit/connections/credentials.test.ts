import { expect, test } from "vitest";
import type { ConnectionSpec } from "../../../src/api/connection.ts";
import { credentialsSource, parseCredentials } from "../../../src/connections/credentials.ts";
import type { Secret } from "../../../src/resources/resource-types.ts";
import { connectionSpec, tokenCredentials } from "../kinds/connection/specs.ts";

const at = { namespace: "iam-system", name: "console-login" };
const secret = (values: Record<string, string>): Secret => ({
  metadata: { name: at.name, namespace: at.namespace },
  data: Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  ),
});
const read = (spec: ConnectionSpec, stored: Secret | undefined) =>
  parseCredentials(spec, credentialsSource(spec, at.namespace), stored);
const complete = { username: "operator", password: "pass word\n", domain: "acme\r\n" };

test("a login is read without the line breaks that echo leaves", () => {
  const finding = read(connectionSpec(), secret(complete));
  expect(finding).toMatchObject({
    ok: true,
    credentials: { kind: "login", username: "operator", domain: "acme" },
  });
  expect(
    finding.ok && finding.credentials.kind === "login" && finding.credentials.password.reveal(),
  ).toBe("pass word");
});

test("an entry of more than 16384 characters is refused by its name", () => {
  const long = { ...complete, password: "x".repeat(16_385) };
  const finding = read(connectionSpec(), secret(long));
  expect(finding.ok || finding.message).toBe(
    "The credentials Secret iam-system/console-login needs at most 16384 characters in the key password.",
  );
});

test("a token is read from the key that the spec names", () => {
  const finding = read(connectionSpec(tokenCredentials), secret({ token: "t" }));
  expect(
    finding.ok && finding.credentials.kind === "token" && finding.credentials.token.reveal(),
  ).toBe("t");
});

test("a login is read from the entries that the spec names", () => {
  const secretRef = { name: "console-login", usernameKey: "user", domainKey: "realm" };
  const spec = connectionSpec({ credentials: { login: { secretRef } } });
  const found = secret({ user: "operator", password: "word", realm: "acme", username: "other" });
  expect(read(spec, found)).toMatchObject({
    ok: true,
    credentials: { username: "operator", domain: "acme" },
  });
  expect(read(spec, secret(complete))).toMatchObject({
    reason: "SecretIncomplete",
    message: expect.stringContaining("needs the keys user, password, realm"),
  });
});

test("a credential does not print", () => {
  const finding = read(connectionSpec(), secret(complete));
  expect(JSON.stringify(finding)).not.toContain("pass word");
});

const MISSING = "does not exist; create it with the keys username, password, domain.";
const lacks = (keys: string) =>
  `needs the keys username, password, domain; missing or empty: ${keys}.`;
const misspelled = secret({ username: "operator", passwd: "x" });
const empty = secret({ ...complete, password: "\n" });
const dataless: Secret = { metadata: { name: "console-login" } };

test.each<[string, Secret | undefined, string, string]>([
  ["a missing Secret is named with what it needs", undefined, "SecretNotFound", MISSING],
  ["only keys that the spec names", misspelled, "SecretIncomplete", lacks("password, domain")],
  ["an empty value", empty, "SecretIncomplete", lacks("password")],
  ["a Secret without data", dataless, "SecretIncomplete", lacks("username, password, domain")],
])("%s", (_, stored, reason, words) => {
  const message = `The credentials Secret iam-system/console-login ${words}`;
  expect(read(connectionSpec(), stored)).toEqual({ ok: false, reason, message });
});
