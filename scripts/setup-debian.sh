#!/usr/bin/env bash
# Finds what is missing on a Debian or Ubuntu machine for a purpose and installs it with apt-get:
#
#   scripts/setup-debian.sh demo    what "make demo" needs: Go, Python with matplotlib
#   scripts/setup-debian.sh test    what "make test" needs: compilers, headers, all seven languages
#
# It prints what is missing and why before anything is changed, asks if there is a terminal to ask at,
# and does nothing when all is there. On a machine without apt-get it lists what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-}
missing=()
reasons=()

# need PACKAGE REASON COMMAND...: PACKAGE is missing unless COMMAND succeeds.
need() {
	local package=$1 reason=$2
	shift 2
	if ! "$@" >/dev/null 2>&1; then
		missing+=("$package")
		reasons+=("$reason")
	fi
}

has() { PATH=$PATH:/usr/sbin:/sbin command -v "$1"; }
python_module() { /usr/bin/python3 -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"; }
r_package() { [ -d "/usr/lib/R/site-library/$1" ] || [ -d "/usr/lib/R/library/$1" ]; }

# go_version prints the minor version of Go 1.x on PATH, or 0.
go_version() {
	local version
	version=$(cd / && GOTOOLCHAIN=local go version 2>/dev/null | sed -n 's/.* go1\.\([0-9]*\).*/\1/p')
	echo "${version:-0}"
}

for_demo() {
	need ca-certificates "downloads of Go modules" test -e /etc/ssl/certs/ca-certificates.crt
	need python3 "the language of the demo" test -x /usr/bin/python3
	need python3-matplotlib "the plot of the demo" python_module matplotlib
}

for_test() {
	for_demo
	need gcc "the race detector and the check of the seccomp filters" has gcc
	need libc6-dev "the race detector and the check of the seccomp filters" test -e /usr/include/stdlib.h
	need pkg-config "the check of the seccomp filters" has pkg-config
	need libseccomp-dev "the check of the seccomp filters" test -e /usr/include/seccomp.h
	need git "the version that a build shows" has git
	local module
	for module in numpy pandas seaborn plotly; do
		need "python3-$module" "tests of plots" python_module "$module"
	done
	need python3-pil "tests of pictures" python_module PIL
	need python3-venv "Python's MCP client" python_module ensurepip
	need r-base-core "the language R" has Rscript
	need r-cran-ggplot2 "tests of plots" r_package ggplot2
	need r-cran-lattice "tests of plots" r_package lattice
	need r-cran-htmlwidgets "tests of plots" r_package htmlwidgets
	need ruby "the language Ruby" has ruby
	need nodejs "the language JavaScript" has node
	need npm "the MCP client of the TypeScript SDK" has npm
	need default-jdk-headless "the language Java" has javac
	need g++ "the language C++" has g++
	# Only root can start an engine for the tests. Debian's packages start services where there is systemd.
	[ "$(id -u)" -eq 0 ] || return 0
	need docker.io "the engine of the tests of docker" has dockerd
	need iptables "Docker" has iptables
	need debootstrap "the image of the tests of docker" has debootstrap
	need docker-registry "tests that download an image" has docker-registry
	need openssl "tests of Docker over TLS" has openssl
	need procps "ending the engine of the tests" has ps
}

case $purpose in
demo) for_demo ;;
test) for_test ;;
*)
	echo "usage: $0 demo|test" >&2
	exit 2
	;;
esac

# Any Go from 1.21 on downloads the toolchain that go.mod asks for.
go_is_too_old() {
	cat >&2 <<-'END'
		setup: Go 1.21 or newer is needed, and neither PATH nor the packages that apt-get knows have it.
		  Get it from https://go.dev/dl/ (unpack it to /usr/local and put /usr/local/go/bin on PATH),
		  or from backports: apt-get install -t "$(. /etc/os-release; echo "$VERSION_CODENAME")-backports" golang-go
		  Then run this command again. Go fetches the version that go.mod names by itself.
	END
	exit 1
}
if [ "$(go_version)" -lt 21 ]; then
	candidate=$(apt-cache policy golang-go 2>/dev/null | sed -n 's/.*Candidate: [0-9]*:1\.\([0-9]*\).*/\1/p')
	# Without lists of packages, as in a new container, there is no candidate yet.
	[ "${candidate:-21}" -ge 21 ] || go_is_too_old
	need golang-go "building the server" false
fi

if [ ${#missing[@]} -eq 0 ]; then
	echo "setup: everything that \"make $purpose\" needs is installed"
	exit 0
fi

echo "setup: \"make $purpose\" needs ${#missing[@]} packages that are not installed:"
for i in "${!missing[@]}"; do
	printf '  %-22s for %s\n' "${missing[$i]}" "${reasons[$i]}"
done

if ! command -v apt-get >/dev/null; then
	echo "setup: there is no apt-get here. The names above are Debian's: install what your system calls them, then run this again." >&2
	exit 1
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: apt-get needs root and there is no sudo. As root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
		exit 1
	fi
	sudo=(sudo)
fi
echo "setup: next is: ${sudo[*]:+sudo }apt-get update && ${sudo[*]:+sudo }apt-get install -y --no-install-recommends ${missing[*]}"
if [ -t 0 ]; then
	read -r -p "setup: go on? [Y/n] " answer
	case $answer in
	[nN]*)
		echo "setup: nothing was changed"
		exit 1
		;;
	esac
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -q
"${sudo[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
[ "$(go_version)" -ge 21 ] || go_is_too_old
