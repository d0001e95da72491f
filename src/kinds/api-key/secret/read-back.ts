/** Reads a pair back from the entries of a Secret and proves that it is intact. Pure. */
import * as z from "zod";
import { annotations } from "../../../api/meta.ts";
import type { KeyPair } from "../../../console/model.ts";
import type { Secret } from "../../../resources/resource-types.ts";
import { ownEntry } from "../../../util/own-entry.ts";
import { Redacted } from "../../../util/redacted.ts";
import { parseInstant } from "../../../util/time.ts";
import { type IssuedPair, pairHash, parseAccount } from "./pair.ts";
import { fillTemplate, matchTemplate, type TemplateToken, usesVariable } from "./template.ts";

/** By secret: the entry that contains it, with all values filled in except the two secrets. */
const templatesSchema = z.object({
  secret: entrySchema().optional(),
  previousSecret: entrySchema().optional(),
});

function entrySchema() {
  return z.object({
    entry: z.string(),
    tokens: z.array(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("text"), text: z.string() }),
        z.object({
          kind: z.literal("variable"),
          name: z.enum(["secret", "previousSecret"]),
          json: z.boolean(),
        }),
      ]),
    ),
  });
}

interface ReadBackTemplate {
  readonly entry: string;
  readonly tokens: readonly TemplateToken[];
}
type ReadBackTemplates = Readonly<
  Partial<Record<"secret" | "previousSecret", ReadBackTemplate | undefined>>
>;

/** For each of the two secrets, the simplest entry from which it can be read back. */
export function readBackTemplates(
  template: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): ReadBackTemplates {
  const find = (variable: string, other: string): ReadBackTemplate | undefined =>
    Object.entries(template)
      .filter(([, text]) => usesVariable(text, variable))
      .map(([entry, text]) => ({ entry, text, mixed: usesVariable(text, other) }))
      .toSorted((a, b) => Number(a.mixed) - Number(b.mixed) || a.text.length - b.text.length)
      .map(({ entry, text }) => ({ entry, tokens: fillTemplate(text, values) }))[0];
  const secret = find("secret", "previousSecret");
  const previousSecret = find("previousSecret", "secret");
  return { secret, previousSecret };
}

/** The pairs that the decoded entries provably hold; `undefined` if an edit has broken a pair. */
export function readBackPairs(
  { metadata }: Secret,
  data: Readonly<Record<string, string>>,
): { readonly pair: IssuedPair | undefined; readonly previous: KeyPair | undefined } {
  const notes = metadata.annotations ?? {};
  const templates = parseTemplates(notes[annotations.template]);
  const secretOf = (
    variable: "secret" | "previousSecret",
    keyId = "",
    hash = "",
    account?: string,
  ): Redacted | undefined => {
    const { entry = "", tokens = [] } = templates[variable] ?? {};
    const text = ownEntry(data, entry);
    if (text === undefined) return undefined;
    const isProven = ({ [variable]: value = "" }: Readonly<Record<string, string>>) =>
      value !== "" && pairHash({ keyId, secret: new Redacted(value) }, account) === hash;
    const value = matchTemplate(tokens, text, isProven)?.[variable];
    return value === undefined ? undefined : new Redacted(value);
  };
  const { keyId, pairHash: hash, account, previousKeyId, previousPairHash } = annotations;
  return {
    pair: pairOf(notes, secretOf("secret", notes[keyId], notes[hash], notes[account])),
    previous: previousOf(
      notes,
      secretOf("previousSecret", notes[previousKeyId], notes[previousPairHash]),
    ),
  };
}

/** The pair of a secret that is proven to belong to its keyId. */
function pairOf(
  notes: Readonly<Record<string, string>>,
  secret: Redacted | undefined,
): IssuedPair | undefined {
  const keyId = notes[annotations.keyId];
  const issueTime = parseInstant(notes[annotations.issueTime]);
  const expirationTime = parseInstant(notes[annotations.expirationTime]);
  const revision = Number(notes[annotations.revision]);
  if (secret === undefined || keyId === undefined || issueTime === undefined) return undefined;
  if (expirationTime === undefined || !Number.isSafeInteger(revision) || revision < 1)
    return undefined;
  const account = parseAccount(notes[annotations.account]);
  return { keyId, secret, issueTime, expirationTime, revision, ...account };
}

function previousOf(
  notes: Readonly<Record<string, string>>,
  secret: Redacted | undefined,
): KeyPair | undefined {
  const keyId = notes[annotations.previousKeyId];
  return secret === undefined || keyId === undefined ? undefined : { keyId, secret };
}

/** Users can edit annotations: an invalid annotation counts as absent. */
function parseTemplates(text: string | undefined): ReadBackTemplates {
  try {
    return templatesSchema.parse(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}
