#!/bin/sh
# Installs the programs that some tests call, where apt can: tesseract. A test whose program is
# missing is skipped.
set -eu

command -v tesseract >/dev/null 2>&1 && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "test-tools: tesseract is missing: tests of character recognition are skipped (Debian's package is tesseract-ocr)"
  exit 0
fi
install="apt-get install -y -qq --no-install-recommends tesseract-ocr"
if ! { $install || { apt-get update -qq && $install; }; } >/dev/null 2>&1; then
  echo "test-tools: tesseract cannot be installed: tests of character recognition are skipped"
fi
