/** The command lines of the three programs. State is disposable; speed and little memory count. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import type { Command } from "./program.ts";
import { controllerManagerUser, kubeconfigPath } from "./users.ts";

/** Where everything of one control plane is. */
export interface Layout {
  readonly directory: string;
  readonly certificates: string;
  readonly tokens: string;
  readonly auditLog: string;
  readonly url: string;
  readonly etcdUrl: string;
  readonly etcdPeerUrl: string;
}

/** The layout of a control plane in `directory`. */
export function layoutOf(
  directory: string,
  [apiPort, etcdPort, etcdPeerPort]: readonly number[],
): Layout {
  return {
    directory,
    certificates: join(directory, "certificates"),
    tokens: join(directory, "tokens.csv"),
    auditLog: join(directory, "audit.log"),
    url: `https://127.0.0.1:${apiPort}`,
    etcdUrl: `http://127.0.0.1:${etcdPort}`,
    etcdPeerUrl: `http://127.0.0.1:${etcdPeerPort}`,
  };
}

/** Every request is one line of the audit log, once, with its outcome and without its body. */
export function writeAuditPolicy(directory: string): void {
  writeFileSync(
    join(directory, "audit-policy.yaml"),
    `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`,
  );
}

export function etcdCommand({ etcd }: Binaries, layout: Layout): Command {
  return command(layout, etcd, "etcd", [
    "--data-dir=etcd",
    `--listen-client-urls=${layout.etcdUrl}`,
    `--advertise-client-urls=${layout.etcdUrl}`,
    `--listen-peer-urls=${layout.etcdPeerUrl}`,
    `--initial-advertise-peer-urls=${layout.etcdPeerUrl}`,
    `--initial-cluster=default=${layout.etcdPeerUrl}`,
    "--unsafe-no-fsync",
    "--snapshot-count=1000",
    // Attacks write gigabytes of versions; etcd uses only what is written.
    "--quota-backend-bytes=8589934592",
    "--log-level=warn",
  ]);
}

export function apiServerCommand({ apiServer }: Binaries, layout: Layout): Command {
  return command(layout, apiServer, "kube-apiserver", [
    `--etcd-servers=${layout.etcdUrl}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${new URL(layout.url).port}`,
    // A loopback address is no endpoint for Pods, so no endpoint is kept; there are no Pods.
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    "--service-cluster-ip-range=10.252.0.0/24",
    `--cert-dir=${layout.certificates}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-account-key-file=sa.pub",
    "--service-account-signing-key-file=sa.key",
    `--token-auth-file=${layout.tokens}`,
    "--authorization-mode=RBAC",
    "--audit-policy-file=audit-policy.yaml",
    `--audit-log-path=${layout.auditLog}`,
    "--shutdown-delay-duration=0s",
    "--profiling=false",
  ]);
}

const controllers = [
  "clusterrole-aggregation-controller",
  "garbage-collector-controller",
  "namespace-controller",
  "resourcequota-controller",
  "root-ca-certificate-publisher-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "validatingadmissionpolicy-status-controller",
];

/** Only controllers that mean something without nodes; unthrottled, so that tests do not wait. */
export function controllerManagerCommand(program: string, layout: Layout): Command {
  return command(layout, program, "kube-controller-manager", [
    `--kubeconfig=${kubeconfigPath(layout.directory, controllerManagerUser)}`,
    `--controllers=${controllers.join(",")}`,
    "--use-service-account-credentials=true",
    "--service-account-private-key-file=sa.key",
    "--root-ca-file=ca.crt",
    "--leader-elect=false",
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
    "--concurrent-namespace-syncs=20",
    "--resource-quota-sync-period=10s",
    "--cert-dir=controller-manager",
    "--secure-port=0",
    "--profiling=false",
  ]);
}

function command(layout: Layout, file: string, name: string, args: readonly string[]): Command {
  return { file, args, directory: layout.directory, log: join(layout.directory, `${name}.log`) };
}
