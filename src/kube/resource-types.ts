/** The built-in Kubernetes kinds and the Argo Rollouts kind that the operator uses. */
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
  /** In base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string };
}

export interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** An Event of `events.k8s.io`. */
export interface ClusterEvent extends KubeObject {
  readonly eventTime?: string;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly action?: string;
  readonly note?: string;
  readonly regarding?: Readonly<Record<string, string | undefined>>;
  readonly related?: Readonly<Record<string, string | undefined>>;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly deprecatedLastTimestamp?: string;
}

/** The fields of a container that show how it uses Secrets. */
export interface Container {
  readonly name: string;
  /** `Always` makes an init container a sidecar, which keeps running. */
  readonly restartPolicy?: string;
  readonly env?: readonly {
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name?: string } };
  }[];
  readonly envFrom?: readonly { readonly secretRef?: { readonly name?: string } }[];
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly subPath?: string;
    readonly subPathExpr?: string;
  }[];
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName?: string };
    readonly projected?: {
      readonly sources?: readonly { readonly secret?: { readonly name?: string } }[];
    };
  }[];
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: { readonly startedAt?: string };
  };
}

export interface Pod extends KubeObject {
  readonly spec?: PodSpec;
  readonly status?: {
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

/** A Deployment, StatefulSet, DaemonSet or Rollout. */
export interface Workload extends KubeObject {
  readonly spec?: {
    /** Rollout only: Pods created before this time are replaced. */
    readonly restartAt?: string | null;
    /** The workload with the template, if a Rollout has no template itself. */
    readonly workloadRef?: { readonly kind?: string; readonly name?: string };
    readonly selector?: LabelSelector;
    readonly template?: {
      readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec?: PodSpec;
    };
  };
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

export const leaseType: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

export const eventType: ResourceType<ClusterEvent> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

export const endpointSliceType: ResourceType<EndpointSlice> = {
  group: "discovery.k8s.io",
  version: "v1",
  plural: "endpointslices",
  kind: "EndpointSlice",
  namespaced: true,
};

export const podType: ResourceType<Pod> = {
  ...core,
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};

export const workloadTypes = {
  Deployment: workloadType("deployments", "Deployment"),
  StatefulSet: workloadType("statefulsets", "StatefulSet"),
  DaemonSet: workloadType("daemonsets", "DaemonSet"),
} as const;

/** The Rollout kind of Argo Rollouts. */
export const rolloutType: ResourceType<Workload> = {
  group: "argoproj.io",
  version: "v1alpha1",
  plural: "rollouts",
  kind: "Rollout",
  namespaced: true,
};

function workloadType(plural: string, kind: string): ResourceType<Workload> {
  return { group: "apps", version: "v1", plural, kind, namespaced: true };
}
