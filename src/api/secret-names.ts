/** Names of the Secrets of an ApiKey. Pure. */

/** An ApiKey, stored or in a file: it can be older than its schema. */
interface Declared {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly secret?: { readonly name?: string | undefined } | undefined };
}

/** Name of the Secret that workloads read. */
export function targetSecretName({ metadata, spec }: Declared): string {
  return spec?.secret?.name ?? metadata.name;
}

/** Name of the Secret that holds a new pair until workloads get it. */
export function pendingSecretName(targetName: string): string {
  return `${targetName}-next`;
}
