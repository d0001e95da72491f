import type { z } from "zod";

/** The key in a schema's metadata that keeps its default out of the CRD. */
export const UNSTORED_DEFAULT = "unstoredDefault";

/**
 * A field whose default the operator applies when it reads the object. The API server does not store it: it would check
 * it by the field's CEL rules with every write of the object. The description must name the default.
 */
export function unstored<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ ...schema.meta(), [UNSTORED_DEFAULT]: true }) as Schema;
}
