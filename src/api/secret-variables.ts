/** The variables of `spec.secret.data` and the shape of the texts that use them. */

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
 * Texts whose every `${` begins a known variable or is escaped as `$${`. Each branch starts where the one
 * before ended and no two of them can read the same text, so that no input makes it slow.
 */
export const TEMPLATE_PATTERN = new RegExp(
  `^([^$]|[$]+[^\${]|[$][$]+[{]|[$][{](${secretVariables.join("|")})(:json)?[}])*[$]*$`,
);

/** In a text of {@link TEMPLATE_PATTERN}: the secret itself is used. */
export const SECRET_PATTERN = /(^|[^$])[$][{]secret(:json)?[}]/;
