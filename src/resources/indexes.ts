/** Index names; each index maps an object to the text after the arrow. */
export const indexes = {
  /** PolicyBinding → `namespace/name` of its ServiceAccount; ApiKey → of those that its spec names and its keys belong to. */
  serviceAccount: "serviceAccount",
  /** ApiKey whose Secret has a different name than the ApiKey → `namespace/name` of the Secret. */
  secretName: "secretName",
  /** ServiceAccount, ResourceQuotaExport → connectionKey of their connection. */
  connection: "connection",
  /** ServiceAccount → `saId` known from spec or status, and `status/saId` from its status. */
  saId: "saId",
  /** ResourceQuotaExport → `namespace/name` of its ApiKey. */
  apiKey: "apiKey",
} as const;
