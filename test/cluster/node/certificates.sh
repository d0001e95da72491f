#!/bin/sh
# The keys and certificates of one node, in the folder pki.
# usage: certificates.sh RUN_FOLDER NODE_ADDRESS FIRST_SERVICE_ADDRESS
set -eu
mkdir -p "$1/pki"
cd "$1/pki"
ec="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
# shellcheck disable=SC2086
openssl req -x509 $ec -days 30 -subj /CN=testbed -keyout ca.key -out ca.crt \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign

leaf() {
  # shellcheck disable=SC2086
  openssl req $ec -subj "$2" -keyout "$1.key" -out "$1.csr"
  printf 'keyUsage=critical,digitalSignature\nextendedKeyUsage=%s\nsubjectAltName=%s\n' "$3" "$4" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.crt"
}
kubernetes=DNS:kubernetes.default.svc.cluster.local,DNS:kubernetes.default.svc,DNS:kubernetes.default,DNS:kubernetes
leaf apiserver /CN=kube-apiserver serverAuth "$kubernetes,DNS:localhost,IP:127.0.0.1,IP:$3,IP:$2"
leaf kubelet /O=system:nodes/CN=system:node:node1 serverAuth "DNS:node1,IP:$2"
leaf kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth DNS:kube-apiserver
openssl ecparam -name prime256v1 -genkey -noout -out sa.key
openssl ec -in sa.key -pubout -out sa.pub
chmod 600 ./*.key
