import type { ApiKey } from "./api-key.ts";

type Stored = Partial<Pick<ApiKey, "spec" | "status">>;

/**
 * Name of the ServiceAccount that the key in the Secret belongs to: another one than spec.serviceAccountRef while the
 * ApiKey moves. Only the console of this account may see the key's secret. `undefined` if a stored object names none.
 */
export function accountInUse({ spec, status }: Stored): string | undefined {
  return status?.current?.serviceAccount ?? spec?.serviceAccountRef?.name;
}
