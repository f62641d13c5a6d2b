#!/bin/sh
# Installs the programs that some tests call, where apt can: tesseract and libfaketime. A test whose
# program is missing is skipped.
set -eu

missing=
command -v tesseract >/dev/null 2>&1 || missing="tesseract-ocr"
ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing="$missing faketime"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "test-tools: missing, so their tests are skipped (packages of Debian): $missing"
  exit 0
fi
install="apt-get install -y -qq --no-install-recommends $missing"
if ! { $install || { apt-get update -qq && $install; }; } >/dev/null 2>&1; then
  echo "test-tools: cannot be installed, so their tests are skipped: $missing"
fi
