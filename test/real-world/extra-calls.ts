/** Calls beyond the console's documentation that a test's console has. */
export const EXTRA_CALLS = {
  disableKey: { method: "POST", path: "/api/v1/x/accounts/{saId}/keys/{keyId}/disable" },
  deleteKey: { method: "DELETE", path: "/api/v1/x/accounts/{saId}/keys/{keyId}" },
  deleteServiceAccount: { method: "DELETE", path: "/api/v1/x/accounts/{saId}" },
} as const;
