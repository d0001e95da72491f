#!/bin/sh
# Process 1 of the node's namespaces. Everything it starts, mounts and configures ends with it.
# usage: inside.sh RUN_FOLDER TOOLS_FOLDER PROGRAMS_FOLDER NODE_ADDRESS HOST_ADDRESS LINK SERVICE_RANGE
set -eu
cd "$1"
run=$PWD tools=$2 programs=$3 node=$4 host=$5 link=$6 services=$7
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Files of this run in the usual places; the machine's own stay out of sight.
for part in usr etc; do mount -t overlay tools -o "ro,lowerdir=$tools/$part:/$part" "/$part"; done
mkdir -p var/lib var/log var/tmp log
ln -sfn /run var/run
mount --bind var /var
mount -t tmpfs tmpfs /run

# The kubelet insists on these for the whole machine. It finds what it wants in copies, and writes nothing.
mkdir -p sysctl
while read -r name value; do
  [ -e "/proc/sys/$name" ] || continue
  copy=sysctl/$(echo "$name" | tr / -)
  echo "$value" >"$copy"
  mount --bind "$copy" "/proc/sys/$name"
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END

ip link set lo up
tries=0
until ip link show "$link" >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 200 ]
  sleep 0.05
done
ip addr add "$node/24" dev "$link"
ip link set "$link" up
ip route add default via "$host"
echo 1 >/proc/sys/net/ipv4/ip_forward

# As on any node, a program that ends is started again: the kubelet does where containerd does not answer yet.
start() {
  name=$1
  shift
  while :; do
    "$@" || :
    sleep 0.5
  done >"log/$name.log" 2>&1 &
}

start containerd containerd --config containerd.toml
start etcd "$programs/etcd" --data-dir ./etcd --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380
start kube-apiserver "$programs/kube-apiserver" --etcd-servers http://127.0.0.1:2379 \
  --bind-address 0.0.0.0 --advertise-address "$node" --service-cluster-ip-range "$services" \
  --tls-cert-file pki/apiserver.crt --tls-private-key-file pki/apiserver.key --cert-dir tmp \
  --kubelet-certificate-authority pki/ca.crt --kubelet-preferred-address-types InternalIP \
  --kubelet-client-certificate pki/kubelet-client.crt --kubelet-client-key pki/kubelet-client.key \
  --service-account-key-file pki/sa.pub --service-account-signing-key-file pki/sa.key \
  --service-account-issuer https://kubernetes.default.svc.cluster.local \
  --token-auth-file tokens.csv --authorization-mode Node,RBAC \
  --enable-admission-plugins NodeRestriction,OwnerReferencesPermissionEnforcement --allow-privileged \
  --audit-policy-file audit-policy.yaml --audit-log-path audit.log \
  --shutdown-delay-duration 0s --profiling=false

# The others wait for the API server by themselves; their first failures cost less than asking it here.
start kube-controller-manager "$programs/kube-controller-manager" \
  --kubeconfig kube-controller-manager.kubeconfig --service-account-private-key-file pki/sa.key \
  --use-service-account-credentials --root-ca-file pki/ca.crt --leader-elect=false --cert-dir tmp \
  --profiling=false
start kube-scheduler "$programs/kube-scheduler" --kubeconfig kube-scheduler.kubeconfig \
  --leader-elect=false --cert-dir tmp --profiling=false
start kubelet "$programs/kubelet" --config kubelet.yaml --kubeconfig kubelet.kubeconfig \
  --hostname-override node1 --node-ip "$node"
start kube-proxy "$programs/kube-proxy" --config kube-proxy.yaml --hostname-override node1

set +e
# Orphans of containers come to process 1, which has to take them.
while :; do
  wait
  sleep 1
done
