#!/usr/bin/env bash
# Starts the service on its own database, fills a tenant "demo" with the handbook
# in examples/, asks it two questions and keeps serving until it is interrupted.
# A second run finds the documents stored and only asks the questions.
set -euo pipefail
cd "$(dirname "$0")/.."

ragd=bin/ragd
listen=${RAGD_LISTEN:-127.0.0.1:8484}
url=http://$listen
key_file=${XDG_CONFIG_HOME:-$HOME/.config}/ragd/demo.key

$ragd serve --log-level warn --first-tenant demo &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true' EXIT
trap 'exit 0' INT TERM

export RAGD_SERVER=$url
until $ragd doctor >/dev/null 2>&1 || curl -fsS -o /dev/null "$url/readyz" 2>/dev/null; do
  kill -0 "$server" 2>/dev/null || exit 1 # it has printed the reason
  sleep 0.2
done

# The first start of ragd creates the tenant and writes its key to client.conf. If
# ragd was used before, this script creates the tenant and a key.
client_conf=$(dirname "$key_file")/client.conf
RAGD_API_KEY=$([ ! -e "$client_conf" ] || awk -v url="$url" '
  $1 == "server" { here = $3 == url; if (here) key = "" }
  $1 == "tenant" { demo = $3 == "demo" }
  $1 == "api-key" && here && demo { key = $3 }
  END { print key }' "$client_conf")
if [ -n "$RAGD_API_KEY" ]; then
  key_file=$client_conf
else
  $ragd tenant get demo >/dev/null 2>&1 || $ragd tenant create demo >/dev/null
  if ! { [ -s "$key_file" ] && RAGD_API_KEY=$(cat "$key_file") $ragd index list >/dev/null 2>&1; }; then
    umask 077
    mkdir -p "$(dirname "$key_file")"
    $ragd key create --tenant demo --name "make run" --json | sed -n 's/.*"secret": *"\([^"]*\)".*/\1/p' >"$key_file"
  fi
  RAGD_API_KEY=$(cat "$key_file")
fi
export RAGD_API_KEY

echo
echo "== ingesting examples/handbook into the index \"handbook\" of the tenant \"demo\""
$ragd ingest --index handbook --base examples/handbook examples/handbook

for question in \
  "How long does the hub hold the climate when it hears no probes, and what happens after that?" \
  "An ammonia alarm rings at three in the morning at a customer on the Plain plan: who answers, and what do they ask first?"; do
  echo
  echo "== $question"
  $ragd query --index handbook --top-k 3 "$question"
done

echo
echo "== the console, signed in by a link that works once within two minutes; \`$ragd console\` makes others"
$ragd console

cat <<EOF

== ragd is serving at $url; Ctrl-C stops it
API key of the tenant "demo" (it is in $key_file):
  $RAGD_API_KEY
For an MCP client:
  {
    "mcpServers": {
      "ragd": {
        "type": "http",
        "url": "$url/mcp",
        "headers": { "Authorization": "Bearer $RAGD_API_KEY" }
      }
    }
  }
EOF
wait "$server"
