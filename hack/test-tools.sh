#!/bin/sh
# Installs the programs that some tests call, where apt can: tesseract, git with git-http-backend, and
# libfaketime. A test whose program is missing is skipped.
set -eu

missing=
command -v tesseract >/dev/null 2>&1 || missing="$missing tesseract-ocr"
command -v git >/dev/null 2>&1 && [ -x "$(git --exec-path)/git-http-backend" ] || missing="$missing git"
ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing="$missing faketime"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "test-tools: programs are missing, whose tests are skipped (Debian's packages are$missing)"
  exit 0
fi
# shellcheck disable=SC2086 # names of packages
install="apt-get install -y -qq --no-install-recommends $missing"
if ! { $install || { apt-get update -qq && $install; }; } >/dev/null 2>&1; then
  echo "test-tools:$missing cannot be installed: tests of these are skipped"
fi
