{{/* What the operator may do, each right once. A test replays its work and finds every one of them used. */}}

{{/* Namespaced kinds of the operator: watched, and held by a finalizer while something must be cleaned up. Never created or deleted. */}}
{{- define "iam-operator.rules.kinds" -}}
- apiGroups: [iam-operator.io]
  resources: [{{ include "iam-operator.kinds.with-finalizer" . }}]
  verbs: {{ ternary "[get, list, watch]" "[get, list, watch, patch]" .Values.readOnly }}
- apiGroups: [iam-operator.io]
  resources: [{{ include "iam-operator.kinds.without-finalizer" . }}]
  verbs: [get, list, watch]
- apiGroups: [iam-operator.io]
  resources: [{{ include "iam-operator.kinds.statuses" . }}]
  verbs: [patch]
{{- if not .Values.readOnly }}
# Where the API server checks owner references, one that holds its owner needs this.
- apiGroups: [iam-operator.io]
  resources: [apikeys/finalizers]
  verbs: [update]
{{- end }}
{{ include "iam-operator.rules.events" . }}
{{- end }}

{{- define "iam-operator.rules.events" -}}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* Cluster-scoped kinds, and the labels of namespaces, which decide about grants. */}}
{{- define "iam-operator.rules.cluster" -}}
- apiGroups: [iam-operator.io]
  resources: [clusterconnections]
  verbs: {{ ternary "[list, watch]" "[list, watch, patch]" .Values.readOnly }}
- apiGroups: [iam-operator.io]
  resources: [clusterconnections/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}

{{/* The addresses of the API server, which Connections must not reach. */}}
{{- define "iam-operator.rules.apiServer" -}}
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  resourceNames: [kubernetes]
  verbs: [get]
{{- end }}

{{/* Secrets of ApiKeys and Connections: by name, and where they are watched also as a list. ConfigMaps of Connections. */}}
{{- define "iam-operator.rules.secrets" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get{{ if not .Values.readOnly }}, create, patch, delete{{ end }}{{ if include "iam-operator.watchesSecrets" . }}, list, watch{{ end }}]
# Authorities of consoles.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
{{- if ne .Values.consumers.mode "none" }}
# Pods that use the Secrets.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- end }}
{{- if and (eq .Values.consumers.mode "restart") (not .Values.readOnly) }}
# Workloads of spec.rollout: an annotation of their Pod template.
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [get, list, patch]
{{- if .Values.consumers.argoRollouts }}
# And Rollouts: the time of their restart.
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [get, patch]
{{- end }}
{{- end }}
{{- end }}

{{/* Beside the operator itself; may be empty. */}}
{{- define "iam-operator.rules.own" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "iam-operator.leaseName" . }}]
  verbs: [get, update]
{{- if .Values.scope.namespaces }}
# Warnings about objects whose namespace is deleted are written here.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
{{- $everySecret := and (include "iam-operator.clusterWide" .) (not .Values.secrets.strict) }}
{{- if and (include "iam-operator.clusterConnections" .) (not $everySecret) }}
{{- with include "iam-operator.credentials" . | fromJsonArray }}
- apiGroups: [""]
  resources: [secrets]
  resourceNames:
    {{- toYaml . | nindent 4 }}
  verbs: [get]
{{- end }}
{{- with include "iam-operator.configMaps" . | fromJsonArray }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames:
    {{- toYaml . | nindent 4 }}
  verbs: [get]
{{- end }}
{{- end }}
{{- end }}

{{/* A Role and its binding. */}}
{{- define "iam-operator.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace | quote }}
  labels:
    {{- include "iam-operator.labels" .root | nindent 4 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace | quote }}
  labels:
    {{- include "iam-operator.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name | quote }}
subjects:
  {{- include "iam-operator.subject" .root | nindent 2 }}
{{ end }}
