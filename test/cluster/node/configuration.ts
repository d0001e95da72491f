/** Writes everything that the programs of a node read: certificates, tokens, kubeconfigs, settings. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../../scripts/image/execute.ts";
import type { Tools } from "../../../scripts/image/tools.ts";
import {
  type Account,
  createAccounts,
  kubeconfigPath,
  writeKubeconfig,
  writeTokenFile,
} from "../users.ts";
import { addresses } from "./addresses.ts";

const url = `https://${addresses.node}:6443`;

/** The users of the programs, by the name of the program. */
const programUsers = {
  "kube-controller-manager": { name: "system:kube-controller-manager" },
  "kube-scheduler": { name: "system:kube-scheduler" },
  kubelet: { name: "system:node:node1", groups: ["system:nodes"] },
  "kube-proxy": { name: "system:kube-proxy" },
} as const;

/** Answers the path of the admin's kubeconfig. */
export async function writeConfiguration(directory: string, tools: Tools): Promise<string> {
  const script = join(import.meta.dirname, "certificates.sh");
  const args = [script, directory, addresses.node, addresses.firstService];
  await run(...tools.command("sh", args));
  const accounts = createAccounts(Object.values(programUsers));
  writeTokenFile(join(directory, "tokens.csv"), accounts.values());
  const authority = readFileSync(join(directory, "pki/ca.crt"), "utf8");
  const write = (file: string, account: Account | undefined) => {
    if (account) writeKubeconfig(file, { url, authority }, account);
  };
  for (const [program, { name }] of Object.entries(programUsers))
    write(join(directory, `${program}.kubeconfig`), accounts.get(name));
  const admin = kubeconfigPath(directory, "admin");
  write(admin, accounts.get("admin"));
  for (const [name, text] of Object.entries(files(directory)))
    writeFileSync(join(directory, name), text);
  return admin;
}

function files(directory: string): Readonly<Record<string, string>> {
  return {
    "audit-policy.yaml": auditPolicy,
    "containerd.toml": containerd(directory),
    "kubelet.yaml": kubelet(directory),
    "kube-proxy.yaml": kubeProxy,
    "resolv.conf": `nameserver ${addresses.host}\n`,
    "network.conflist": network,
  };
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`;

// The machine may forbid a lower oom_score_adj than its own; network namespaces must not land in /var/run/netns.
const containerd = (directory: string) => `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  sandbox_image = "localhost/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${directory}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
`;

const network = JSON.stringify({
  cniVersion: "0.4.0",
  name: "testbed",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: addresses.pods }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
});

// Settings for any machine: cgroup v1 and v2, swap, no view of the disk that holds the images.
const kubelet = (directory: string) => `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
evictionHard: {memory.available: 1Mi}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
address: 0.0.0.0
tlsCertFile: ${directory}/pki/kubelet.crt
tlsPrivateKeyFile: ${directory}/pki/kubelet.key
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: ${directory}/pki/ca.crt}
authorization: {mode: Webhook}
clusterDNS: [${addresses.host}]
clusterDomain: cluster.local
resolvConf: ${directory}/resolv.conf
syncFrequency: 10s
`;

const kubeProxy = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: kube-proxy.kubeconfig}
iptables: {masqueradeAll: true}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`;
