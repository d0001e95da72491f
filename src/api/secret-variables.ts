/** The variables of `spec.secret.data`, and the syntax of its templates. */

export const secretVariables = [
  "keyId",
  "secret",
  "previousKeyId",
  "previousSecret",
  "saId",
  "tpn",
  "orgId",
  "projectId",
  "baseURL",
  "domainId",
  "domainName",
  "partitionId",
  "issueTime",
  "expirationTime",
] as const;

/**
 * Matches texts in which every `${` begins a known variable or is escaped as `$${`. Each branch starts at the end of
 * the previous branch, and no two branches match the same text, so the match is fast for every input.
 */
export const TEMPLATE_PATTERN = new RegExp(
  `^([^$]|[$]+[^\${]|[$][$]+[{]|[$][{](${secretVariables.join("|")})(:json)?[}])*[$]*$`,
);

/** Matches a {@link TEMPLATE_PATTERN} text that contains the secret itself. */
export const SECRET_PATTERN = /(^|[^$])[$][{]secret(:json)?[}]/;
