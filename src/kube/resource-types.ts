/** Kubernetes' own kinds that the operator touches. */
import type { KubeObject, ResourceType } from "./resource.ts";

export interface Secret extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string };
}

const core = { group: "", version: "v1" } as const;

export const secretType: ResourceType<Secret> = {
  ...core,
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
};

export const configMapType: ResourceType<ConfigMap> = {
  ...core,
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

export const namespaceType: ResourceType<Namespace> = {
  ...core,
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};
