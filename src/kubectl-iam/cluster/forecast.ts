/** What the operator says about the next key of an ApiKey. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import { type Condition, findCondition } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED } from "../../api/issuance.ts";

/** In place of a forecast. */
export const NO_FORECAST =
  "The operator has not reported on the next key since the last change of the spec.";

/** `undefined` if the operator has said nothing since the last change of the spec. */
export function forecastOf({ metadata, status }: ApiKey): Condition | undefined {
  const forecast = findCondition(status?.conditions, ISSUANCE_ALLOWED);
  const isOfPresent = (forecast?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return isOfPresent ? forecast : undefined;
}
