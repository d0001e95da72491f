/**
 * Which labels and annotations a Secret has from the ApiKey's template. The Secret lists their names, so that what is
 * dropped from the template goes from the Secret, and what others have set stays. A Secret that lists none (written
 * by an earlier version, or the list was edited away) loses nothing.
 */
import * as z from "zod";
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { annotations } from "../../../api/meta.ts";
import type { Secret } from "../../resource-types.ts";

export interface TemplateNames {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

type MetadataTemplate = Pick<ApiKeySpec["secret"], "labels" | "annotations">;
type Metadata = Pick<Secret["metadata"], "labels" | "annotations">;

const names = z.array(z.string());
const schema = z.object({ labels: names, annotations: names });
const NONE: TemplateNames = { labels: [], annotations: [] };

/** The annotation that lists them; none for a template that has none. */
export function listTemplateNames(template: MetadataTemplate): Readonly<Record<string, string>> {
  const list: TemplateNames = {
    labels: Object.keys(template.labels ?? {}).toSorted(),
    annotations: Object.keys(template.annotations ?? {}).toSorted(),
  };
  const isEmpty = list.labels.length + list.annotations.length === 0;
  return isEmpty ? {} : { [annotations.templateNames]: JSON.stringify(list) };
}

/** What `stored` has from an earlier template, and `wanted` no longer has. */
export function droppedNames(stored: Metadata, wanted: Metadata): TemplateNames {
  const listed = parseNames(stored.annotations?.[annotations.templateNames]);
  return {
    labels: listed.labels.filter((name) => isDropped(name, stored.labels, wanted.labels)),
    annotations: listed.annotations.filter((name) =>
      isDropped(name, stored.annotations, wanted.annotations),
    ),
  };
}

function isDropped(name: string, stored: Metadata["labels"], wanted: Metadata["labels"]): boolean {
  return Object.hasOwn(stored ?? {}, name) && !Object.hasOwn(wanted ?? {}, name);
}

/** Whether the Secret's list is the one of this template; only then does a later change of it take away the right ones. */
export function listsSameNames(stored: Metadata, wanted: Metadata): boolean {
  const name = annotations.templateNames;
  return stored.annotations?.[name] === wanted.annotations?.[name];
}

/** Annotations can be edited by anybody: what does not read as expected counts as absent. */
function parseNames(text: string | undefined): TemplateNames {
  try {
    return schema.parse(JSON.parse(text ?? "null"));
  } catch {
    return NONE;
  }
}
