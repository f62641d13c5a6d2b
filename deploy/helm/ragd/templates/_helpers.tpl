{{- define "ragd.labels" -}}
app.kubernetes.io/name: ragd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "ragd.meta" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "ragd.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "ragd.variable" -}}
RAGD_{{ . | upper | replace "-" "_" }}
{{- end }}
