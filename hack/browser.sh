# Sourced from the root of the repository, after hack/cached.sh: sets CHROMIUM to the browser of tests, and installs it if it
# is missing. The shell without windows takes a third less processor time than the whole browser.

if [ -z "${CHROMIUM:-}" ]; then
	CHROMIUM=$(command -v chromium-headless-shell) || {
		echo "installing chromium-headless-shell" >&2
		apt_install chromium-headless-shell >&2 || command -v chromium >/dev/null || apt_install chromium >&2
		CHROMIUM=$(command -v chromium-headless-shell || command -v chromium)
	}
fi
export CHROMIUM
