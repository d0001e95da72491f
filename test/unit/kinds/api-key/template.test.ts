import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import {
  droppedNames,
  listsSameNames,
  listTemplateNames,
} from "../../../../src/kinds/api-key/secret/names.ts";
import {
  fillTemplate,
  matchTemplate,
  renderTemplate,
  type TemplateToken,
} from "../../../../src/kinds/api-key/secret/template.ts";

const values = { keyId: "sak_1", secret: 'a"b$${secret}\n', saId: "sa-1", baseURL: "x$" };

describe("rendering", () => {
  test.each([
    ["a plain text stays", "hello", "hello"],
    ["a variable becomes its value", "id=${keyId};", "id=sak_1;"],
    [":json writes a JSON string", '{"s":${secret:json}}', '{"s":"a\\"b$${secret}\\n"}'],
    ["$${ is a literal ${", "$${keyId} ${keyId}", "${keyId} sak_1"],
    ["a value is never taken for a template", "${secret}", 'a"b$${secret}\n'],
    ["an unknown variable becomes empty", "[${nothing}]", "[]"],
    ["an unfinished variable is text", "${keyId", "${keyId"],
  ])("%s", (_, template, expected) => {
    expect(renderTemplate(template, values)).toBe(expected);
  });
});

describe("reading back", () => {
  test("a value that ends in $ before an open variable is no escape", () => {
    const tokens = fillTemplate("${baseURL}${secret}", { baseURL: "x$" });
    expect(matchTemplate(tokens, "x$s3cret")).toEqual({ secret: "s3cret" });
  });

  test("two forms of one variable must agree", () => {
    const tokens = fillTemplate("${secret} ${secret:json}", {});
    expect(matchTemplate(tokens, 'a "a"')).toEqual({ secret: "a" });
    expect(matchTemplate(tokens, 'a "b"')).toBeUndefined();
  });

  test("a text of another form gives nothing", () => {
    expect(matchTemplate(fillTemplate("key: ${secret}", {}), "kez: x")).toBeUndefined();
  });

  const open = { kind: "variable", name: "secret", json: false } as const;
  const other = { ...open, name: "previousSecret" } as const;
  const text = (content: string) => ({ kind: "text", text: content }) as const;
  const empty = Array.from({ length: 9_800 }, () => text(""));
  const long = "a".repeat(1_000_000);

  test.each([
    ["with thousands of empty tokens after it", [open, ...empty, text("z")], long],
    [
      "with thousands of empty tokens before it",
      [...empty, open, ...empty, other, text("z")],
      long,
    ],
    ["twice in a row", [open, other], long],
    ["twice, with a text between that is everywhere", [open, text("a"), other, text("z")], long],
    ["thousands of times", [open, ...empty.map(() => open)], "a".repeat(9_000)],
    ["as a string that ends nowhere", [open, { ...other, json: true }], '"'.repeat(1_000_000)],
  ])("a variable %s is given up after bounded work", (_, tokens, content) => {
    let work = 0;
    const counted = new Proxy<readonly TemplateToken[]>(tokens, {
      get: (target, name) => {
        work += 1;
        return Reflect.get(target, name);
      },
    });
    const found = matchTemplate(counted, content, ({ secret = "" }) => {
      work += 1 + secret.length / 100;
      return false;
    });
    expect(found).toBeUndefined();
    expect(work).toBeLessThan(300_000);
  });

  const literal = fc.string({ maxLength: 12 });
  const part = fc.oneof(
    literal.map((text) => text.replaceAll("${", "$${")),
    fc.constantFrom("${keyId}", "${baseURL}", "${saId:json}", "${secret:json}"),
  );

  test("what was rendered with one open secret is read back, whatever stands around it", () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 6 }),
        fc.array(part, { maxLength: 6 }),
        fc.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        (before, after, secret) => {
          const template = `${before.join("")}<${"${secret}"}>${after.join("")}`;
          const known = { keyId: "sak_1", saId: "sa-1", baseURL: "https://c$" };
          const text = renderTemplate(template, { ...known, secret });
          expect(matchTemplate(fillTemplate(template, known), text)?.secret).toBe(secret);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("an edited list of names", () => {
  test.each([
    ["no JSON", "{"],
    ["of another shape", '{"labels":{"team":"a"}}'],
    ["with names that are not strings", '{"labels":[1],"annotations":[null]}'],
    ["empty", ""],
  ])("%s: no name is dropped, and the annotation is written again", (_, text) => {
    const stored = { labels: { team: "a" }, annotations: { [annotations.templateNames]: text } };
    expect(droppedNames(stored, {})).toEqual({ labels: [], annotations: [] });
    expect(listsSameNames(stored, {})).toBe(false);
  });

  test("never takes away what is wanted, nor names what is not there", () => {
    const list = {
      labels: ["mine", "gone", "__proto__"],
      annotations: [annotations.templateNames, "constructor"],
    };
    const stored = {
      labels: { mine: "1" },
      annotations: { [annotations.templateNames]: JSON.stringify(list) },
    };
    const wanted = {
      labels: { mine: "1" },
      annotations: listTemplateNames({ labels: { mine: "1" } }),
    };
    expect(droppedNames(stored, wanted)).toEqual({ labels: [], annotations: [] });
  });
});
