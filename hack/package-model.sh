#!/usr/bin/env bash
# Packs a model with its licence: as packages for Debian and Red Hat that go beside the package ragd, and as an image of ragd with the
# model inside.
#
#   package-model.sh packages FOLDER LICENSE             writes dist/ragd-model-NAME_*.deb and .rpm
#   package-model.sh image FOLDER LICENSE IMAGE [BASE]   builds IMAGE from the image BASE, default ragd:latest
#
# FOLDER is that of a model which `ragd model check` accepts, and its name the name of the model. LICENSE is a file with the text
# of the licence under which the model may be passed on.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' hack/package-model.sh >&2; exit 2; }
refuse() { echo "package-model: $*" >&2; exit 1; }
[ $# -ge 3 ] || usage
kind=$1 folder=$(realpath -m -- "$2") license=$3
[ -f "$folder/model.safetensors" ] || refuse "$2 is no folder of a model: it has no model.safetensors"
[ -s "$license" ] || refuse "the file $license is missing or empty: pass the text of the model's licence"
name=$(basename "$folder")
[[ $name =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$ ]] || refuse "the name of the folder must have letters, digits, dots, - and _, got $name"
[ -z "$(find "$folder" -type l -print -quit)" ] || refuse "$2 has links: copy it with cp --recursive --dereference first"
build_ragd
bin/ragd model check "$name" --models-dir "$(dirname "$folder")" >/dev/null || refuse "ragd cannot use the model"

# Of a package Debian allows lower case letters, digits, +, - and dots.
package=ragd-model-$(tr '[:upper:]_' '[:lower:]-' <<<"$name")
root=.cache/model-package
rm -rf "$root"
mkdir -p "$root/models/$name" "$root/doc/$package"
find "$folder" -mindepth 1 -maxdepth 1 ! -name '.*' -exec cp -r {} "$root/models/$name/" \;
cp "$license" "$root/doc/$package/copyright"
find "$root/models" "$root/doc" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +

case $kind in
packages)
	version=${VERSION:-1.0.0}
	[[ $version =~ ^[0-9][0-9A-Za-z.+~]*$ ]] || refuse "VERSION must begin with a digit and have letters, digits, dots, + and ~, got $version"
	link=/var/lib/ragd/models/$name
	cat >"$root/installed.sh" <<SCRIPT
#!/bin/sh
# Shows the model to the service, unless its models have one of this name. The package ragd makes the user.
set -e
if getent passwd ragd >/dev/null; then
  install -d -m 0750 -o ragd -g ragd /var/lib/ragd /var/lib/ragd/models
else
  mkdir -p /var/lib/ragd/models
fi
[ -e $link ] || [ -L $link ] || ln -s /usr/share/ragd/models/$name $link
SCRIPT
	cat >"$root/removed.sh" <<SCRIPT
#!/bin/sh
set -e
case \$1 in upgrade | 1) exit 0 ;; esac
if [ "\$(readlink $link)" = /usr/share/ragd/models/$name ]; then
  rm -f $link
fi
SCRIPT
	cat >"$root/nfpm.yaml" <<CONFIG
name: $package
arch: all
version: "$version"
maintainer: The ragd authors <ragd@ragd.example>
license: see /usr/share/doc/$package/copyright
section: net
description: |-
  Model $name for ragd
  ragd computes with this model itself, as local/$name.
depends: [ragd]
contents:
  - {src: $root/models, dst: /usr/share/ragd/models, type: tree}
  - {src: $root/doc/$package/copyright, dst: /usr/share/doc/$package/copyright}
scripts:
  postinstall: $root/installed.sh
  preremove: $root/removed.sh
CONFIG
	mkdir -p dist
	GOFLAGS='' GOBIN=$PWD/.cache/release-tools go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
	for packager in deb rpm; do
		.cache/release-tools/nfpm package --config "$root/nfpm.yaml" --packager "$packager" --target dist/
	done
	;;
image)
	[ $# -ge 4 ] || usage
	docker build --quiet --tag "$4" --build-arg "BASE=${5:-ragd:latest}" --file deploy/docker/model.Dockerfile "$root"
	;;
*) usage ;;
esac
