import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import { secretVariables } from "../../../../src/api/secret-variables.ts";
import { differences } from "../../../../src/kinds/api-key/secret/differences.ts";
import type { IssuedPair } from "../../../../src/kinds/api-key/secret/pair.ts";
import { targetPatch } from "../../../../src/kinds/api-key/secret/patch.ts";
import { pendingSecret, targetSecret } from "../../../../src/kinds/api-key/secret/render.ts";
import { matchTemplate } from "../../../../src/kinds/api-key/secret/template.ts";
import { pairIn, viewSecret } from "../../../../src/kinds/api-key/secret/view.ts";
import type { Secret } from "../../../../src/resources/resource-types.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { effort } from "../../../setup/effort.ts";
import { keySpec, owner, pair, stored, values } from "./builders.ts";

const spec = keySpec();
const one = pair(1);
const previous = { keyId: "sak_0", secret: new Redacted("0".repeat(43)) };
type Previous = typeof previous;
/** The Secret of key 1, or of another one, as it is written. */
const written = (
  data: Readonly<Record<string, string>> = spec.secret.data,
  {
    previous,
    pair: held = one,
  }: { readonly previous?: Previous | undefined; readonly pair?: IssuedPair } = {},
) =>
  targetSecret(owner, { ...spec, secret: { ...spec.secret, data } }, values, {
    pair: held,
    previous,
  });
const view = (secret: Secret) => viewSecret(secret, owner, spec, "target");
const pairOf = (secret: Secret) => {
  const seen = view(secret);
  return seen.kind === "Ours" ? seen.pair : undefined;
};

const word = fc.oneof(
  fc.string({ maxLength: 6 }).map((text) => text.replaceAll("$", "")),
  fc.constantFrom("$${x", "{", '"', "\n"),
);
const variable = fc
  .constantFrom(...secretVariables)
  .chain((name) => fc.constantFrom(`\${${name}}`, `\${${name}:json}`));
const text = fc.array(fc.oneof(word, variable), { maxLength: 5 }).map((parts) => parts.join(""));
const templates = fc
  .tuple(
    text,
    fc.constantFrom("${secret}", "${secret:json}"),
    text,
    fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), text, { maxKeys: 3 }),
  )
  .map(([before, open, after, more]) => ({ ...more, main: `${before}${open}${after}` }));
const secrets = fc.stringMatching(/^[-_A-Za-z0-9]{43}$/);

describe("a pair is read back from its Secret", () => {
  test("whatever the template", () => {
    fc.assert(
      fc.property(templates, secrets, fc.boolean(), (data, secret, withPrevious) => {
        const issued = { ...one, secret: new Redacted(secret) };
        const before = withPrevious ? previous : undefined;
        const manifest = written(data, { pair: issued, previous: before });
        const seen = view(stored(manifest));
        if (seen.kind !== "Ours") throw new Error("not ours");
        expect({ ...seen.pair, secret: seen.pair?.secret.reveal() }).toEqual({ ...issued, secret });
        expect(differences(seen.secret, manifest, owner)).toEqual([]);
        expect(JSON.stringify(manifest.metadata)).not.toContain(secret);
      }),
      { numRuns: 300 * effort },
    );
  });

  test("from a docker config, which is one whatever the secret", () => {
    const data = {
      ".dockerconfigjson":
        '{"auths": {"registry.example.com": {"username": ${keyId:json}, "password": ${secret:json}}}}',
    };
    const typed = keySpec({ secret: { type: "kubernetes.io/dockerconfigjson", data } });
    const odd = fc.string({ minLength: 1, unit: "binary" });
    fc.assert(
      fc.property(odd, (secret) => {
        const issued = { ...one, secret: new Redacted(secret) };
        const kept = stored(targetSecret(owner, typed, values, { pair: issued, previous }));
        const text = Buffer.from(kept.data?.[".dockerconfigjson"] ?? "", "base64").toString();
        expect(JSON.parse(text)).toEqual({
          auths: { "registry.example.com": { username: "sak_1", password: secret } },
        });
        const seen = viewSecret(kept, owner, typed, "target");
        expect(seen.kind === "Ours" && seen.pair?.secret.reveal()).toBe(secret);
      }),
      { numRuns: 300 * effort },
    );
  });

  test("also where both secrets stand side by side", () => {
    const data = { both: "${secret}${previousSecret}", ids: "${keyId}${previousKeyId}" };
    const seen = view(stored(written(data, { previous })));
    expect(seen).toMatchObject({ pair: { keyId: "sak_1" }, previous: { keyId: "sak_0" } });
    expect(seen.kind === "Ours" && seen.previous?.secret.reveal()).toBe("0".repeat(43));
    expect(pairOf(stored(written(data)))?.keyId).toBe("sak_1");
  });

  test("any edit of an entry is noticed, and never gives a wrong pair", () => {
    fc.assert(
      fc.property(
        templates,
        fc.nat(400),
        fc.string({ minLength: 1, maxLength: 4 }),
        (data, place, insert) => {
          const manifest = written(data);
          const text = Buffer.from(manifest.data?.main ?? "", "base64").toString();
          const edited = text.slice(0, place) + insert + text.slice(place + insert.length);
          fc.pre(edited !== text);
          const secret = stored({
            ...manifest,
            data: { ...manifest.data, main: Buffer.from(edited).toString("base64") },
          });
          const seen = view(secret);
          if (seen.kind !== "Ours") throw new Error("not ours");
          const [first] = differences(seen.secret, manifest, owner);
          expect(first).toEqual({ what: "entry main", isVital: true });
          expect([undefined, one.secret.reveal()]).toContain(seen.pair?.secret.reveal());
        },
      ),
      { numRuns: 300 * effort },
    );
  });

  test("annotations in any shape never make it fail, and never give a wrong pair", () => {
    const token = fc.record({
      kind: fc.constantFrom("text", "variable", "x"),
      text: fc.string(),
      name: fc.oneof(fc.constant("secret"), fc.string()),
      json: fc.boolean(),
    });
    const template = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .record({
          secret: fc.record({
            entry: fc.constantFrom("secret", "__proto__", "constructor", ""),
            tokens: fc.array(token),
          }),
        })
        .map((value) => JSON.stringify(value)),
    );
    const names = fc.constantFrom(...Object.values(annotations));
    fc.assert(
      fc.property(names, fc.oneof(template, fc.constant(undefined)), (name, value) => {
        const manifest = stored(written());
        const { [name]: _, ...rest } = manifest.metadata.annotations ?? {};
        const edited = { ...rest, ...(value === undefined ? {} : { [name]: value }) };
        const metadata = { ...manifest.metadata, annotations: edited };
        const read = pairOf({ ...manifest, metadata });
        if (read !== undefined)
          expect([read.keyId, read.secret.reveal()]).toEqual(["sak_1", one.secret.reveal()]);
      }),
      { numRuns: 500 * effort },
    );
  });

  test("an entry that is edited to be hard to read costs little time", () => {
    const open = (name: string, json = false) => ({ kind: "variable" as const, name, json });
    const x = { kind: "text" as const, text: "x" };
    const both = [open("secret"), x, open("previousSecret"), x];
    const hard = [...both, ...both];
    expect(matchTemplate(hard, `${"x".repeat(500_000)}y`)).toBeUndefined();
    // A text that begins at every place and ends nowhere.
    const endless = `"${'\\"'.repeat(8_000_000)}`;
    expect(matchTemplate([open("secret"), open("previousSecret", true)], endless)).toBeUndefined();
  });

  test("a pending Secret gives its pair, and belongs to the object whatever the policy", () => {
    const secret = stored(
      pendingSecret(owner, keySpec({ secret: { deletionPolicy: "Retain" } }), one, "a1"),
    );
    expect(viewSecret(secret, owner, spec, "pending")).toMatchObject({
      kind: "Ours",
      pair: { keyId: "sak_1" },
    });
    expect(secret.metadata.ownerReferences).toHaveLength(1);
    expect(secret.metadata.name).toBe("ci-next");
  });
});

describe("whose a Secret is", () => {
  const manifest = stored(written());
  const { type: _, ...untyped } = manifest;
  const before = { ...owner, uid: "old-uid" };
  const earlier = stored(targetSecret(before, spec, values, { pair: one, previous: undefined }));
  const metadata = { name: "ci", uid: "x", resourceVersion: "1" };
  const web = { apiVersion: "v1", kind: "Deployment", name: "web", uid: "other" };
  const owned = { ...manifest.metadata, ownerReferences: [{ ...web, controller: true }] };
  test.each([
    ["absent", undefined, { kind: "Absent" }],
    ["as written", manifest, { kind: "Ours" }],
    [
      "of another type",
      { ...manifest, type: "kubernetes.io/tls" },
      { kind: "Foreign", adoptable: false, why: "its type is kubernetes.io/tls, not Opaque" },
    ],
    ["of no type", untyped, { kind: "Ours" }],
    [
      "without our mark",
      { ...manifest, metadata },
      {
        kind: "Foreign",
        adoptable: true,
        hasConsent: false,
        why: "it lacks the label iam-operator.io/api-key: ci",
      },
    ],
    [
      "given to the ApiKey by its owner",
      { ...manifest, metadata: { ...metadata, labels: { "iam-operator.io/api-key": "ci" } } },
      { kind: "Foreign", adoptable: true, hasConsent: true },
    ],
    [
      "given to another ApiKey",
      { ...manifest, metadata: { ...metadata, labels: { "iam-operator.io/api-key": "ci-2" } } },
      { kind: "Foreign", adoptable: true, hasConsent: false },
    ],
    [
      "with our labels alone",
      { ...manifest, metadata: { ...metadata, labels: manifest.metadata.labels ?? {} } },
      { kind: "Ours" },
    ],
    [
      "controlled by another",
      { ...manifest, metadata: owned },
      { kind: "Foreign", adoptable: false, why: "it belongs to Deployment web" },
    ],
    ["of an earlier object of the name", earlier, { kind: "Foreign", adoptable: false }],
  ])("%s", (_, secret, expected) => {
    expect(viewSecret(secret, owner, spec, "target")).toMatchObject(expected);
  });
});

test("a patch changes every entry in one write, removes the rest, keeps what is others', and fits one Secret only", () => {
  const wanted = written();
  const garden = { apiVersion: "v1", kind: "Garden", name: "g", uid: "g" };
  const { metadata, ...rest } = stored(
    written({ secret: "${secret}", old: "x" }, { pair: pair(2) }),
  );
  const ownerReferences = [garden, ...(metadata.ownerReferences ?? [])];
  const seen = view({ ...rest, metadata: { ...metadata, ownerReferences } });
  if (!("secret" in seen)) throw new Error("absent");
  expect(targetPatch(seen, wanted, owner)).toMatchObject({
    metadata: {
      uid: "secret-uid",
      resourceVersion: "7",
      annotations: { [annotations.previousKeyId]: null, [annotations.keyId]: "sak_1" },
      ownerReferences: [garden, { uid: "ci-uid" }],
    },
    data: { ...wanted.data, old: null },
  });
});

test.each(["constructor", "toString", "hasOwnProperty"])(
  "a patch removes an entry named %s, which every object seems to have",
  (name) => {
    const wanted = written();
    const seen = view(stored({ ...wanted, data: { ...wanted.data, [name]: "eA==" } }));
    if (!("secret" in seen)) throw new Error("absent");
    expect(targetPatch(seen, wanted, owner)).toMatchObject({ data: { [name]: null } });
  },
);

test("a pair is proven by its hash although its key ID was edited, but only for the known key", () => {
  const secret = stored(written());
  const notes = { ...secret.metadata.annotations, [annotations.keyId]: "sak_edited" };
  const edited = { ...secret, metadata: { ...secret.metadata, annotations: notes } };
  const pairWith = (keyId?: string) => pairIn(viewSecret(edited, owner, spec, "target", keyId));
  expect(pairWith()).toBeUndefined();
  expect(pairWith("sak_2")).toBeUndefined();
  expect(pairWith("sak_1")).toEqual(pair(1));
});
