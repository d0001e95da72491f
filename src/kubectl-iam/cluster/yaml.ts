/** YAML as `kubectl` reads it: version 1.1, but without its dates and its numbers of base 60. */
import {
  boolYaml11Tag,
  CORE_SCHEMA,
  defineScalarTag,
  intCoreTag,
  loadAll,
  mergeTag,
  NOT_RESOLVED,
} from "js-yaml";

/** The documents of a text. Throws if it is neither YAML nor JSON. */
export function loadDocuments(text: string): readonly unknown[] {
  return loadAll(text, { schema: AS_KUBECTL });
}

const AS_KUBECTL = CORE_SCHEMA.withTags(
  boolYaml11Tag,
  defineScalarTag(intCoreTag.tagName, { ...intCoreTag, resolve: toInteger }),
  mergeTag,
);

const INTEGER = /^([-+]?)(0b[01]+|0o?[0-7]+|0x[\da-f]+|0|[1-9]\d*)$/i;

/** A leading 0 means octal, and `_` may group digits. */
function toInteger(source: string): number | typeof NOT_RESOLVED {
  const [, sign, digits] = INTEGER.exec(source.replaceAll("_", "")) ?? [];
  if (digits === undefined) return NOT_RESOLVED;
  const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return sign === "-" ? -value : value;
}
