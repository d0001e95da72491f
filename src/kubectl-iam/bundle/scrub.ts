/** Removes secrets from a bundle, and texts that look like secrets. Pure. */
import type { KubeObject } from "../../kube/resource.ts";
import { trim } from "../../kube/watch/trim.ts";

const REMOVED = "<removed>";

/**
 * Recognized by form: private keys, HTTP tokens, JWTs, and texts of exactly 43 characters, the length of a key's
 * secret.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]*(-----END \1-----)?/g, REMOVED],
  [/\b(Bearer|Basic)\s+[-\w.~+/=]+/gi, `$1 ${REMOVED}`],
  [/\beyJ[-\w]+\.[-\w]+\.[-\w]*/g, REMOVED],
  [/(?<![-\w+/=])[-\w+/]{43}=?(?![-\w+/=])/g, REMOVED],
  [/((?:secret|password|token)"?\s*[:=]\s*"?)(?![{["<\s])[^\s",;&}]{8,}/gi, `$1${REMOVED}`],
];

export function scrubText(text: string): string {
  return PATTERNS.reduce((left, [pattern, instead]) => left.replaceAll(pattern, instead), text);
}

interface AnySpec {
  readonly secret?: { readonly data?: Readonly<Record<string, string>> };
}

/**
 * Removes managedFields, the last applied configuration, and the literal text of templates, which can hold anything.
 */
export function scrubObject(object: KubeObject & { readonly spec?: AnySpec }): object {
  const { spec, ...rest } = trim(object);
  return spec === undefined ? rest : { ...rest, spec: scrubSpec(spec) };
}

function scrubSpec(spec: AnySpec): object {
  if (spec.secret?.data === undefined) return spec;
  const data = Object.entries(spec.secret.data).map(([name, template]) => [
    name,
    (template.match(/\$\{[a-zA-Z:]+\}/g) ?? []).join(" "),
  ]);
  return { ...spec, secret: { ...spec.secret, data: Object.fromEntries(data) } };
}

/**
 * Keeps a Secret's name and labels, and the operator's annotations without templates and hashes. Drops all entries and
 * all other annotations.
 */
export function scrubSecret({ metadata }: KubeObject, prefix: string): object {
  const notes = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith(prefix) && !/template|hash/.test(name),
  );
  const { name, namespace, creationTimestamp, labels } = metadata;
  return {
    kind: "Secret",
    metadata: {
      name,
      namespace,
      creationTimestamp,
      labels,
      annotations: Object.fromEntries(notes),
    },
  };
}
