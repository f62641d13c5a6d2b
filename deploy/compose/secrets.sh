#!/bin/sh
# Makes the secrets of compose.yaml in the folder secrets, those that are missing.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets # the files can be read in the containers, whose users are others
make() { [ -s "secrets/$1" ] || { head -c "$2" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; echo; } >"secrets/$1"; chmod 644 "secrets/$1"; }
make database-password 24
make operator-key 24
make master-key 32
make session-key 32
make grafana-password 16
[ -s secrets/database-url ] || echo "postgres://ragd:$(cat secrets/database-password)@database:5432/ragd?sslmode=disable" >secrets/database-url
chmod 644 secrets/database-url
