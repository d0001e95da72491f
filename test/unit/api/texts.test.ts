/** The texts that users write: durations and templates. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DURATION, ms } from "../../../src/api/fields.ts";
import { ofConsoleCalls } from "../../../src/api/reasons/failed-calls.ts";
import {
  SECRET_PATTERN,
  secretVariables,
  TEMPLATE_PATTERN,
} from "../../../src/api/secret-variables.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";

describe("durations", () => {
  test.each([
    ["720h", 720 * HOUR],
    ["1h30m", 90 * MINUTE],
    ["1h1m1s", HOUR + MINUTE + SECOND],
    ["1h1s", HOUR + SECOND],
    ["90s", 90 * SECOND],
    ["250ms", 250],
    ["0s", 0],
  ])("%s", (text, expected) => {
    expect(DURATION.test(text)).toBe(true);
    expect(ms(text)).toBe(expected);
  });

  test.each(["", "1", "1d", "1.5h", "-1h", " 1h", "1h ", "1h\n", "h", "1m1h", "1h1h", "123456h"])(
    "%j is none",
    (text) => {
      expect(DURATION.test(text)).toBe(false);
    },
  );
});

describe("templates", () => {
  const piece = fc.oneof(
    fc.constantFrom("$", "{", "}", "${", "$${", ":json", "a", "\n", "é", ...secretVariables),
    fc.constantFrom(...secretVariables.flatMap((name) => [`\${${name}}`, `\${${name}:json}`])),
  );
  const template = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

  /** The same by reading from left to right, as rendering does. */
  const variablesOf = (text: string) =>
    [...text.matchAll(/\$\$\{|\$\{([^}]*)(\}?)/g)].flatMap(([whole, name, end]) =>
      whole === "$${" ? [] : [`${name}${end}`],
    );
  const known = new Set(secretVariables.flatMap((name) => [`${name}}`, `${name}:json}`]));

  test("the pattern accepts exactly the texts whose every variable is known", () => {
    fc.assert(
      fc.property(template, (text) => {
        expect(TEMPLATE_PATTERN.test(text)).toBe(
          variablesOf(text).every((name) => known.has(name)),
        );
      }),
      { numRuns: 5_000 },
    );
  });

  test("the secret is found in exactly the rendered entries", () => {
    fc.assert(
      fc.property(template, (text) => {
        fc.pre(TEMPLATE_PATTERN.test(text));
        const found = variablesOf(text).some((name) => /^secret(:json)?\}$/.test(name));
        expect(SECRET_PATTERN.test(text)).toBe(found);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([
    "$".repeat(16_384),
    "${".repeat(8_192),
    "$${".repeat(5_461),
    "${secret}".repeat(1_820),
  ])("a text of full length is judged before the test runs out of time (%#)", (text) => {
    expect(TEMPLATE_PATTERN.test(text)).toBeTypeOf("boolean");
    expect(TEMPLATE_PATTERN.test(`${text.slice(0, -2)} $\{`)).toBe(false);
  });
});

test.each(Object.entries(ofConsoleCalls))("the advice on %s fits every call", (_, { fix }) => {
  expect(fix).not.toContain("accountListPages");
});
