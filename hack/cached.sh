# Sourced: keeps what scripts install in the user's cache folder, where all checkouts find it.

ragd_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ragd

# cached NAME KEY COMMAND [ARGUMENT...] prints the folder of what COMMAND installs. The command runs in that
# folder, unless it has done so before for the same name and KEY, such as a lock file or a list of versions.
cached() {
	local folder
	folder=$ragd_cache/$1-$(sha256sum <<<"$2" | cut -c1-12)
	shift 2
	mkdir -p "$folder"
	locked "$folder/.lock" install_into "$folder" "$@" >&2 || return 1
	echo "$folder"
}
install_into() {
	[ ! -e "$1/.installed" ] || return 0
	echo "installing into $1"
	(cd "$1" && "${@:2}") && touch "$1/.installed"
}

# locked FILE COMMAND [ARGUMENT...] runs a command while no other script does so with the same file. Where
# there is no flock, scripts are not run at the same time.
locked() (
	! command -v flock >/dev/null || flock 9
	"${@:2}"
) 9>"$1"

# copy_checkout FOLDER copies the files of the checkout, with changes and new files, but not what git ignores.
copy_checkout() {
	mkdir -p "$1"
	git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
		[ ! -e "$file" ] || printf '%s\0' "$file" # it may be deleted
	done | tar --null --files-from=- -cf - | tar -C "$1" -xf -
}

# build_ragd builds bin/ragd. It is linked only if something has changed.
build_ragd() {
	mkdir -p bin .cache
	locked .cache/build.lock go build -trimpath -tags grpcnotrace -o bin/ragd ./cmd/ragd
}

# npm_install PACKAGE... installs packages of npm into the current folder.
npm_install() {
	npm install --prefix . --no-fund --no-audit --loglevel error "$@"
}

# pip_install WHEEL... installs packages of PyPI into the environment venv in the current folder.
pip_install() {
	{ [ -x venv/bin/python ] || python3 -m venv venv; } && venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
}

# apt_install PACKAGE... installs packages of Debian.
apt_install() {
	mkdir -p "$ragd_cache"
	locked "$ragd_cache/apt.lock" apt_get "$@"
}
apt_get() {
	local sudo install
	sudo=$([ "$(id -u)" = 0 ] || echo sudo)
	install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $*"
	$install || { $sudo apt-get update -qq && $install; }
}
