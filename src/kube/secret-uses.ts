/** How the containers of a Pod use Secrets. Pure. */
import type { Container, PodSpec } from "./resource-types.ts";

export interface SecretUse {
  readonly secret: string;
  readonly container: string;
  /**
   * Whether the container keeps the values from its start: variables, files mounted by subPath, and everything that an
   * init container reads, because it runs once. The kubelet updates files of whole volumes.
   */
  readonly atStart: boolean;
}

export function secretUses({
  containers,
  initContainers = [],
  volumes = [],
}: PodSpec): readonly SecretUse[] {
  const mounted = new Map(volumes.map((volume) => [volume.name, secretsOf(volume)]));
  return [
    ...initContainers.flatMap((each) => usesOf(each, mounted, each.restartPolicy !== "Always")),
    ...containers.flatMap((each) => usesOf(each, mounted, false)),
  ];
}

type Volume = NonNullable<PodSpec["volumes"]>[number];

function secretsOf({ secret, projected }: Volume): readonly string[] {
  const sources = projected?.sources ?? [];
  return named([secret?.secretName, ...sources.map((source) => source.secret?.name)]);
}

function usesOf(
  { name, env = [], envFrom = [], volumeMounts = [] }: Container,
  mounted: ReadonlyMap<string, readonly string[]>,
  runsOnce: boolean,
): readonly SecretUse[] {
  const variables = named([
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ...envFrom.map(({ secretRef }) => secretRef?.name),
  ]);
  const use = (secret: string, atStart: boolean) => ({ secret, container: name, atStart });
  return [
    ...variables.map((secret) => use(secret, true)),
    ...volumeMounts.flatMap((mount) => {
      const isCopy = (mount.subPath ?? "") !== "" || (mount.subPathExpr ?? "") !== "";
      return (mounted.get(mount.name) ?? []).map((secret) => use(secret, isCopy || runsOnce));
    }),
  ];
}

function named(names: readonly (string | undefined)[]): readonly string[] {
  return names.filter((name) => name !== undefined && name !== "") as string[];
}
