/** The stored status of a ServiceAccount, decoded: its account, and a creation with an unknown outcome. */
import { serviceAccountKind } from "../../../api/service-account.ts";
import { createStatusCodec } from "../../../api/status-codec.ts";

/** Without `bindings`, which another field manager owns. */
export const accountStatusCodec = createStatusCodec(
  serviceAccountKind.status.omit({
    observedGeneration: true,
    conditions: true,
    lastHandledReconcileAt: true,
    bindings: true,
  }),
  {},
);

export type AccountStatus = ReturnType<typeof accountStatusCodec.decode>;
export type CreationAttempt = NonNullable<AccountStatus["attempt"]>;
