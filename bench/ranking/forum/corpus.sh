#!/usr/bin/env bash
# Makes the labelled set "forum" in a folder: the pages of four documentation packages of Debian, which apt
# fetches, and the questions beside this script. Needs Debian, python3 and dpkg-deb.
#
#   bench/ranking/forum/corpus.sh FOLDER
set -euo pipefail
folder=$(realpath -m "${1:?which folder}")
cd "$(dirname "$0")"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download -q git-doc sqlite3-doc python3.11-doc cmake-doc)
for package in "$work"/*.deb; do
	dpkg-deb -x "$package" "$work/unpacked"
done
python3 corpus.py "$work/unpacked/usr/share/doc" "$folder"
