#!/usr/bin/env bash
# Checks the OpenAPI document of the service that RAGD_SERVER names, and runs a client in Java against it that
# openapi-generator makes of the document. RAGD_API_KEY is an admin key of a tenant. Ends with 77 if there is no
# Java, or its packages cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")"
: "${RAGD_SERVER:?}" "${RAGD_API_KEY:?}"
. ../../hack/cached.sh
document=$PWD/../../internal/api/openapi/document/openapi.json
left_out() {
	echo "sdk/openapi: $*"
	exit 77
}

curl -fsS "$RAGD_SERVER/openapi.json" | cmp - "$document"
validator='openapi-spec-validator==0.9.0'
checker=$(cached openapi-validator "$validator" pip_install "$validator") || left_out "$validator cannot be installed"
"$checker/venv/bin/python" check.py "$document"

command -v javac >/dev/null || left_out "there is no javac"
central=${MAVEN_CENTRAL:-https://repo1.maven.org/maven2}
# fetch_jars reads lines of a checksum and a path in Maven Central.
fetch_jars() {
	mkdir -p jars
	while read -r sum path; do
		curl -fsS --retry 2 -m 300 -o "jars/${path##*/}" "$central/$path" || return 1
		echo "$sum  jars/${path##*/}" | sha256sum -c --quiet || return 1
	done <<<"$1"
}
packages=$(cat packages.txt)
tools=$(cached openapi-java-tools "$packages" fetch_jars "$packages") || left_out "the packages cannot be fetched from $central"
# make_client generates and compiles the client. A message has the name of a class that every Java program knows.
make_client() {
	java -jar "$tools"/jars/openapi-generator-cli-*.jar generate -g java --library native -i "$document" -o source \
		--additional-properties=hideGenerationTimestamp=true,useJakartaEe=true,openApiNullable=false,invokerPackage=ragd,apiPackage=ragd.api,modelPackage=ragd.model \
		--model-name-mappings Thread=AgentThread --global-property apiTests=false,modelTests=false,apiDocs=false,modelDocs=false >generator.log 2>&1 || { tail -n 40 generator.log; return 1; }
	find source/src/main -name '*.java' >sources
	javac -proc:none -nowarn -Xlint:none -cp "$tools/jars/*" -d classes @sources
}
# Descriptions are comments in the client: it is made anew only for other calls and messages.
made=$(cached openapi-java "$packages $(grep -v '"description":' "$document"; cat test.sh)" make_client)

work=$(mktemp -d "$PWD/../../.cache/sdk-openapi-XXXXXX")
trap 'rm -rf "$work"' EXIT
javac -proc:none -cp "$made/classes:$tools/jars/*" -d "$work" Walk.java
java -cp "$work:$made/classes:$tools/jars/*" Walk
