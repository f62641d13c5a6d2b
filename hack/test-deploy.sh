#!/usr/bin/env bash
# Tests what is in deploy: the chart with Helm's own lint and rendered with several values, whose
# objects must be what Kubernetes' types allow, compose.yaml against the specification, and the
# container image, if there is a container engine. Helm is built from source into .cache.
set -euo pipefail
cd "$(dirname "$0")/.."

helm=$PWD/.cache/deploy-tools/helm
[ -x "$helm" ] || (cd /tmp && GOBIN=${helm%/*} GOWORK=off go install helm.sh/helm/v3/cmd/helm@v3.19.2)
go build -C hack/deploycheck -o "$PWD/.cache/deploy-tools/deploycheck" .
check=$PWD/.cache/deploy-tools/deploycheck

chart=deploy/helm/ragd
"$helm" lint --strict "$chart"
render() { "$helm" template test "$chart" --kube-version 1.31.0 "$@"; }
render | "$check" kubernetes
render --set autoscaling.enabled=true,ingress.enabled=true,tls.secretName=certificate,serviceMonitor.enabled=true,prometheusRule.enabled=true \
	--set ingress.tlsSecretName=host --set settings.public-url=https://rag.example.com \
	--set 'networkPolicy.metrics[0].podSelector.matchLabels.app=prometheus' | "$check" kubernetes
if render --set settings.Public_URL=x >/dev/null 2>&1; then
	echo "test-deploy: the schema of the values allows a name that is no setting" >&2
	exit 1
fi
[ "$(render --set prometheusRule.enabled=true | grep -c ' alert: ')" = "$(grep -c ' alert: ' deploy/prometheus/alerts.yml)" ] || { echo "test-deploy: the chart has other alerts than deploy/prometheus" >&2; exit 1; }
deploy/compose/secrets.sh
"$check" compose deploy/compose/compose.yaml
echo "the chart and compose.yaml are valid"
status=0
hack/test-docker.sh || status=$?
[ "$status" != 77 ] || { echo "NOT RUN: the container image, see above"; status=0; }
exit "$status"
