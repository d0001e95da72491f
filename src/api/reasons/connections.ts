/** Reasons of Connections and ClusterConnections. */
import type { Reason } from "./reason.ts";

export const ofConnections = {
  SecretNotFound: {
    meaning:
      "The Secret with the credentials does not exist. For a ClusterConnection it must be in the operator's namespace.",
    fix: "Create the Secret that the message names. The operator checks every 12 seconds.",
  },
  SecretIncomplete: {
    meaning: "A key of the Secret is missing or empty.",
    check: "`kubectl get secret NAME -n NAMESPACE -o jsonpath='{.data}' | jq keys`.",
    fix: "Add the keys that the message names to the Secret. A login needs `username`, `password` and `domain`.",
  },
  ConfigMapNotFound: {
    meaning:
      "The ConfigMap of `caBundleFrom` does not exist. For a ClusterConnection it must be in the operator's namespace.",
    fix: "Create the ConfigMap that the message names. The operator checks every 12 seconds.",
  },
  ConfigMapIncomplete: {
    meaning: "The key of the ConfigMap is missing or empty.",
    check: "`kubectl get configmap NAME -n NAMESPACE -o jsonpath='{.data}' | jq keys`.",
    fix: "Add the key that the message names to the ConfigMap, or name another key in `caBundleFrom.configMapRef.key`.",
  },
  InvalidEncoding: {
    meaning:
      "An entry of a Secret or ConfigMap of the connection is not UTF-8 text. PowerShell writes UTF-16, for example.",
    check: "`kubectl get secret NAME -n NAMESPACE -o jsonpath='{.data.KEY}' | base64 -d | file -`.",
    fix: "Write the file again as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`, and replace the entry.",
  },
  CertificateInvalid: {
    meaning:
      "An entry of `caBundleFrom` or `clientCertificate` is not valid PEM, or `tls.key` is not the private key of `tls.crt`.",
    check:
      "`kubectl get secret NAME -n NAMESPACE -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -dates`; of cert-manager, `kubectl describe certificate NAME`.",
    fix: "Correct the entry that the message names: it needs certificates in PEM.",
  },
  LoginFailed: {
    meaning:
      "A login was answered without a token: the credentials are wrong, the user is locked, or `spec.baseURL` leads to another server, such as a gateway's page.",
    check:
      "the message; it quotes the console. For a 404, a redirect or an unreadable answer: `curl -v BASEURL/api/v1/iam/authn/public/login` from a Pod in the operator's namespace.",
    fix: "Correct the credentials in the Secret; for a 404, `spec.baseURL`. A changed Secret is tried within 15 seconds (70 if the connection is Ready), and at once after `kubectl iam reconcile clusterconnection/NAME`.",
  },
  LoginPaused: {
    meaning:
      "Three logins in a row failed. The operator waits before the next login, to avoid locking the user: a minute, doubling to an hour. The message names the last failure.",
    fix: "Correct what the last failure shows: new credentials, a changed spec or `kubectl iam reconcile clusterconnection/NAME` end the pause at once. If the password is right, check in the console whether the user is locked.",
  },
  MfaRequired: {
    meaning:
      "The console requires a second factor, which the operator cannot provide. It does not retry with these credentials.",
    fix: "Use a login without multi-factor authentication, or a token, and change the Secret.",
  },
  AddressRefused: {
    meaning:
      "The operator does not connect to the address in `spec.baseURL`, or in `spec.proxyURL`: a Connection reaches no loopback, link-local or metadata address, nor the API server, and with `connections.networks` of the chart only the listed networks. Nothing was sent.",
    check:
      "[which addresses a Connection reaches](multi-tenancy.md#which-addresses-a-connection-reaches), and to which address the name resolves in the cluster.",
    fix: "Correct `spec.baseURL` or `spec.proxyURL` of the connection, or ask the operator's administrator to list the network in `connections.networks`. The name is resolved again every 12 seconds.",
  },
  ConsoleUnavailable: {
    meaning:
      "The console cannot be reached, or responds with a server error, or a proxy or gateway answers with web pages in its place. The message names the start of the outage and the number of waiting objects. The operator calls the console about every 12 seconds until it answers.",
    check:
      "`curl -v BASEURL` from a Pod in the operator's namespace; the NetworkPolicy; `spec.caBundle` and `caBundleFrom`. `ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED` means that the console requires a `clientCertificate`.",
    fix: "If the console is down, wait until it is back. Otherwise, correct `spec.baseURL` of the connection, its CA if a certificate is not trusted, or the network path to the console. A connection that was ready before stays in use meanwhile, unless its spec was changed.",
  },
  InUse: {
    meaning: "The object is being deleted, and other objects still need it.",
    check: "the message; it names those objects.",
    fix: "Delete the objects that the message tells you to delete: the deletion waits for them without limit. An ApiKey of a ServiceAccount in deletion can also move to another account: change its `spec.serviceAccountRef`. For superseded keys of an ApiKey that issues keys of another account, wait until they are revoked or expire, or set `spec.access: Revoked` on the ServiceAccount: `kubectl iam revoke-access iamsa/NAME`.",
  },
} as const satisfies Record<string, Reason>;
