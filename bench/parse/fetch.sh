#!/bin/sh
# Downloads the packages of packages.txt from Debian and copies their files of up to 6 MB
# to DIR/files/FORMAT, at most PER_PACKAGE of each package.
set -eu
dir=${1:?usage: fetch.sh DIR}
per_package=${PER_PACKAGE:-12}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir/files" "$dir/packages"
dir=$(cd "$dir" && pwd)
cd "$dir/packages"
grep -v '^#' "$here/packages.txt" | while read -r format package; do
	unpacked=$format-$package
	[ -d "$unpacked" ] && continue
	apt-get download -qq -o APT::Sandbox::User=root "$package" || { echo "$package cannot be had" >&2; continue; }
	rm -rf part && mkdir -p part "$dir/files/$format"
	dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -C part --wildcards "*.$format" 2>/dev/null || true
	rm -f "$package"_*.deb
	mv part "$unpacked" # what was interrupted before is done again
	find "$unpacked" -type f -name "*.$format" -size -6M | LC_ALL=C sort | awk -v n="$per_package" '
		{ list[NR] = $0 } END { step = NR > n ? NR / n : 1; for (i = 1; i <= NR; i += step) print list[int(i)] }' |
		while read -r file; do cp "$file" "$dir/files/$format/$package-$(basename "$file")"; done
done
