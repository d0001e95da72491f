/**
 * Labels and annotations that a Secret has from the ApiKey's template. The Secret lists their names. Names removed from
 * the template are removed from the Secret; labels and annotations that were set outside the operator stay. A Secret
 * without a list (written by an earlier version, or edited) loses nothing.
 */
import * as z from "zod";
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { annotations } from "../../../api/meta.ts";
import type { Secret } from "../../../resources/resource-types.ts";

interface TemplateNames {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

type MetadataTemplate = Pick<ApiKeySpec["secret"], "labels" | "annotations">;
type Metadata = Pick<Secret["metadata"], "labels" | "annotations">;

const names = z.array(z.string());
const schema = z.object({ labels: names, annotations: names });
const NONE: TemplateNames = { labels: [], annotations: [] };

/** The annotation with the list; absent if the template has no labels and annotations. */
export function listTemplateNames(template: MetadataTemplate): Readonly<Record<string, string>> {
  const list: TemplateNames = {
    labels: Object.keys(template.labels ?? {}).toSorted(),
    annotations: Object.keys(template.annotations ?? {}).toSorted(),
  };
  const isEmpty = list.labels.length + list.annotations.length === 0;
  return isEmpty ? {} : { [annotations.templateNames]: JSON.stringify(list) };
}

/** Names that `stored` has from an earlier template and that `wanted` no longer has. */
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

/**
 * Whether the Secret lists the names of this template. Only then does a later change of the template remove the right
 * names.
 */
export function listsSameNames(stored: Metadata, wanted: Metadata): boolean {
  const name = annotations.templateNames;
  return stored.annotations?.[name] === wanted.annotations?.[name];
}

/** Users can edit annotations: an invalid list counts as absent. */
function parseNames(text: string | undefined): TemplateNames {
  try {
    return schema.parse(JSON.parse(text ?? "null"));
  } catch {
    return NONE;
  }
}
