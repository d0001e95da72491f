{{- define "iam-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "iam-operator.fullname" -}}
{{- $name := include "iam-operator.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- /* The name of a release can have dots; the name of a Service cannot. */}}
{{- $release := .Release.Name | replace "." "-" }}
{{- if contains $name $release }}
{{- $release | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" $release $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where the operator runs, and with it the Secrets of ClusterConnections and the Lease. */}}
{{- define "iam-operator.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{/* Names of cluster-scoped objects: installations for a few namespaces must not get in each other's way. */}}
{{- define "iam-operator.clusterName" -}}
{{- if .Values.scope.namespaces }}
{{- printf "%s-%s" (include "iam-operator.namespace" .) (include "iam-operator.fullname" .) }}
{{- else }}
{{- include "iam-operator.fullname" . }}
{{- end }}
{{- end }}

{{/* A version as the value of a label: at most 63 characters, and without the + before build metadata. */}}
{{- define "iam-operator.labelValue" -}}
{{- regexReplaceAll "[^A-Za-z0-9]+$" (replace "+" "_" . | trunc 63) "" }}
{{- end }}

{{- define "iam-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "iam-operator.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "iam-operator.labels" -}}
{{ include "iam-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ include "iam-operator.labelValue" .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ include "iam-operator.labelValue" (printf "%s-%s" .Chart.Name .Chart.Version) | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "iam-operator.serviceAccountName" -}}
{{- default (ternary (include "iam-operator.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "iam-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "iam-operator.serviceAccountName" . | quote }}
  namespace: {{ include "iam-operator.namespace" . | quote }}
{{- end }}

{{- define "iam-operator.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default ($.Chart.AppVersion | replace "+" "_" | trunc 128) .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Non-empty where the operator serves ClusterConnections. */}}
{{- define "iam-operator.clusterConnections" -}}
{{- $wish := toString .Values.scope.clusterConnections }}
{{- if or (eq $wish "true") (and (eq $wish "auto") (not .Values.scope.namespaces)) }}true{{ end }}
{{- end }}

{{/* Non-empty if the operator's permissions on its kinds are cluster-wide. */}}
{{- define "iam-operator.clusterWide" -}}
{{- if not .Values.scope.namespaces }}true{{ end }}
{{- end }}

{{/* Namespaces where the operator can write Secrets, as a JSON list; [] with cluster-wide permissions. */}}
{{- define "iam-operator.secretNamespaces" -}}
{{- if and .Values.secrets.strict .Values.secrets.namespaces }}
{{- .Values.secrets.namespaces | uniq | sortAlpha | toJson }}
{{- else }}
{{- .Values.scope.namespaces | default list | uniq | sortAlpha | toJson }}
{{- end }}
{{- end }}

{{/* Non-empty where the operator may list and watch the Secrets in its scope. */}}
{{- define "iam-operator.watchesSecrets" -}}
{{- $wish := toString .Values.secrets.watch }}
{{- if or (eq $wish "true") (and (eq $wish "auto") .Values.scope.namespaces (not .Values.secrets.strict)) }}true{{ end }}
{{- end }}

{{/* Names of the Secrets that ClusterConnections refer to, as a JSON list. */}}
{{- define "iam-operator.credentials" -}}
{{- $names := .Values.secrets.credentials | default list }}
{{- if .Values.clusterConnection.create }}
{{- with .Values.clusterConnection.spec }}
{{- with .credentials.login }}{{ $names = append $names .secretRef.name }}{{ end }}
{{- with .credentials.token }}{{ $names = append $names .secretRef.name }}{{ end }}
{{- with .clientCertificate }}{{ $names = append $names .secretRef.name }}{{ end }}
{{- with .caBundleFrom }}{{ with .secretRef }}{{ $names = append $names .name }}{{ end }}{{ end }}
{{- end }}
{{- end }}
{{- $names | uniq | sortAlpha | toJson }}
{{- end }}

{{/* Names of the ConfigMaps that ClusterConnections refer to, as a JSON list. */}}
{{- define "iam-operator.configMaps" -}}
{{- $names := .Values.rbac.configMaps | default list }}
{{- if .Values.clusterConnection.create }}
{{- with .Values.clusterConnection.spec.caBundleFrom }}
{{- with .configMapRef }}{{ $names = append $names .name }}{{ end }}
{{- end }}
{{- end }}
{{- $names | uniq | sortAlpha | toJson }}
{{- end }}

{{/* As the operator names it: operators that share the work by labels have a lease each. */}}
{{- define "iam-operator.leaseName" -}}
{{- with .Values.scope.selector }}
{{- $words := regexReplaceAll "[^a-z0-9]+" (lower .) "-" | trunc 180 | trimPrefix "-" | trimSuffix "-" }}
{{- list "iam-operator" $words (. | sha256sum | trunc 8) | compact | join "-" }}
{{- else }}iam-operator{{ end }}
{{- end }}

{{/* The Pod's security context; where OpenShift gives each namespace its own users and groups, without fixed ones. */}}
{{- define "iam-operator.podSecurityContext" -}}
{{- $wish := toString .Values.openshift }}
{{- $openshift := or (eq $wish "true") (and (eq $wish "auto") (.Capabilities.APIVersions.Has "security.openshift.io/v1")) }}
{{- $context := .Values.podSecurityContext | default dict }}
{{- ternary (omit $context "runAsUser" "runAsGroup" "fsGroup") $context $openshift | toYaml }}
{{- end }}

{{- define "iam-operator.metricsService" -}}
{{- $name := include "iam-operator.fullname" . }}
{{- /* The name of a Service begins with a letter. */}}
{{- if regexMatch "^[0-9]" $name }}metrics-{{ $name }}{{ else }}{{ $name }}-metrics{{ end }}
{{- end }}

{{/* Non-empty where metrics are for those only who may read them. */}}
{{- define "iam-operator.secureMetrics" -}}
{{- if and .Values.metrics.enabled .Values.metrics.secure.enabled }}true{{ end }}
{{- end }}

{{/* The Secret with the certificate of the metrics, if there is one. */}}
{{- define "iam-operator.metricsCertificate" -}}
{{- if include "iam-operator.secureMetrics" . }}{{ .Values.metrics.secure.certificateSecret }}{{ end }}
{{- end }}

{{/* Non-empty if the chart creates a ServiceMonitor or PodMonitor, by the value of its `create`. */}}
{{- define "iam-operator.createsMonitor" -}}
{{- $create := toString .create }}
{{- if and .root.Values.metrics.enabled (or (eq $create "true") (and (eq $create "auto") (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1"))) }}true{{ end }}
{{- end }}

{{/* Fields of an endpoint that Prometheus scrapes, by the values of its monitor. */}}
{{- define "iam-operator.scrape" -}}
port: metrics
interval: {{ .monitor.interval | quote }}
{{- with .monitor.scrapeTimeout }}
scrapeTimeout: {{ . | quote }}
{{- end }}
# The label "namespace" is that of the object a number is about.
honorLabels: true
{{- with .monitor.relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The port of a URL, or the default port of its scheme. */}}
{{- define "iam-operator.portOf" -}}
{{- $url := urlParse . }}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "80" "443" (eq $url.scheme "http")) }}
{{- end }}

{{/* The bytes of an amount of memory such as 256Mi, 1.5G or 268435456. */}}
{{- define "iam-operator.bytes" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 }}
{{- $unit := regexFind "[A-Za-z]+$" . }}
{{- mulf (trimSuffix $unit . | float64) (get $units $unit | default 1.0) }}
{{- end }}

{{/* What no schema can say. */}}
{{- define "iam-operator.validate" -}}
{{- if and .Values.secrets.namespaces (not .Values.secrets.strict) }}
{{- fail "secrets.namespaces: has a meaning only with secrets.strict=true" }}
{{- end }}
{{- if and (eq (toString .Values.secrets.watch) "true") .Values.secrets.strict (or .Values.secrets.namespaces (not .Values.scope.namespaces)) }}
{{- fail "secrets.watch: with secrets.strict=true, Secrets can be watched only in all of scope.namespaces; leave secrets.namespaces empty" }}
{{- end }}
{{- if .Values.scope.namespaces }}
{{- range .Values.secrets.namespaces }}
{{- if not (has . $.Values.scope.namespaces) }}
{{- fail (printf "secrets.namespaces: %s is not one of scope.namespaces, so the operator never works there" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.clusterConnection.create }}
{{- if not (include "iam-operator.clusterConnections" .) }}
{{- fail "clusterConnection.create: needs scope.clusterConnections=true where scope.namespaces is a list" }}
{{- end }}
{{- end }}
{{- if and .Values.clusterConnection.spec (not .Values.clusterConnection.create) }}
{{- fail "clusterConnection.spec: has a meaning only with clusterConnection.create=true" }}
{{- end }}
{{- if and .Values.crds.annotations (not .Values.crds.install) }}
{{- fail "crds.annotations: has a meaning only with crds.install=true" }}
{{- end }}
{{- if and .Values.serviceAccount.annotations (not .Values.serviceAccount.create) }}
{{- fail "serviceAccount.annotations: has a meaning only with serviceAccount.create=true" }}
{{- end }}
{{- if not .Values.metrics.enabled }}
{{- range list "serviceMonitor.create" "podMonitor.create" "prometheusRule.create" }}
{{- $path := splitList "." . }}
{{- if eq (dig (first $path) (last $path) false $.Values.metrics | toString) "true" }}
{{- fail (printf "metrics.%s: has a meaning only with metrics.enabled=true" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (ne (toString .Values.metrics.serviceMonitor.create) "false") (ne (toString .Values.metrics.podMonitor.create) "false") }}
{{- fail "metrics.podMonitor.create: create either a ServiceMonitor or a PodMonitor, or every metric is scraped twice" }}
{{- end }}
{{- if and .Values.metrics.secure.readers (not .Values.metrics.secure.enabled) }}
{{- fail "metrics.secure.readers: has a meaning only with metrics.secure.enabled=true" }}
{{- end }}
{{- if le (int .Values.terminationGracePeriodSeconds) (trimSuffix "s" .Values.shutdownGrace | int) }}
{{- fail "terminationGracePeriodSeconds: must be more than shutdownGrace, or a stop could lose an issued key" }}
{{- end }}
{{- with dig "limits" "memory" "" (.Values.resources | default dict) | toString }}
{{- if lt (include "iam-operator.bytes" . | float64) 134217728.0 }}
{{- fail (printf "resources.limits.memory: must be at least 128Mi, or the operator runs out of memory; it is %s" .) }}
{{- end }}
{{- end }}
{{- end }}
