#!/usr/bin/env bash
# The Docker engine of the tests: real, private, and gone afterwards.
#
#   scripts/test-docker.sh start    start it, with the images that the tests need, whatever an earlier run left
#   scripts/test-docker.sh stop     end it and remove all it had
#   scripts/test-docker.sh env      print what the tests must have in their environment
#   scripts/test-docker.sh run CMD  start it, run CMD with that environment, stop it
#
# It listens on a socket of its own and on loopback with TLS, has no bridge and touches no firewall, so that
# an engine of the machine's own goes on beside it. Beside it runs a registry on loopback. What takes long,
# the base image, is made once with debootstrap and kept in /var/cache by the content of this script.
set -euo pipefail
shopt -s inherit_errexit

run=/run/llm-sandbox-mcp-test
state=/var/lib/llm-sandbox-mcp-test
cache=/var/cache/llm-sandbox-mcp-test
socket=$run/docker.sock
tls_port=32376
registry_port=32500

docker() { env -u DOCKER_TLS_VERIFY -u DOCKER_CERT_PATH -u DOCKER_CONTEXT docker --host "unix://$socket" "$@"; }

# processes prints the ids of those that belong to the engine: by their names, and by one of the two
# directories in their command lines. Everything else on the machine is left alone.
processes() {
	ps -eo pid=,comm=,args= | awk -v a="$run/" -v b="$state/" \
		'$2 ~ /^(dockerd|containerd|docker-registry|docker-proxy|runc)/ && (index($0, a) || index($0, b)) { print $1 }'
}

# daemon prints the id of the engine's own process, if it runs.
daemon() { for pid in $(processes); do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] && echo "$pid"; done || true; }

stop() {
	local pid
	for pid in $(daemon); do
		kill "$pid" 2>/dev/null || true
	done
	for _ in $(seq 150); do # it gives containers ten seconds
		[ -z "$(daemon)" ] && break
		sleep 0.1
	done
	for pid in $(processes); do
		kill -9 "$pid" 2>/dev/null || true
	done
	unmount "$run/" "$state/"
	rm -rf --one-file-system "$run" "$state"
}

# unmount takes away what is mounted below two directories.
unmount() {
	local mount
	for mount in $(awk -v a="$1" -v b="$2" 'index($5, a) == 1 || index($5, b) == 1 { print $5 }' /proc/self/mountinfo | sort -r); do
		umount -l "$mount" 2>/dev/null || true
	done
}

# base_image prints the path of an archive of Debian with Python.
base_image() {
	local made root mirror
	made=$cache/python-$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-12).tar
	if [ ! -e "$made" ]; then
		mkdir -p "$cache"
		unmount "$cache/" "$cache/" # an earlier run may have ended in the middle
		rm -rf --one-file-system "$cache"/root.*
		root=$(mktemp -d "$cache/root.XXXXXX")
		mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | head -n 1)
		# shellcheck disable=SC1091
		debootstrap --variant=minbase --include=python3,ca-certificates "$(. /etc/os-release && echo "$VERSION_CODENAME")" \
			"$root" "$mirror" >"$cache/debootstrap.log" 2>&1 || { tail -n 20 "$cache/debootstrap.log" >&2; exit 1; }
		rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
		tar -C "$root" -cf "$made.part" .
		rm -rf --one-file-system "$cache"/root.* "$cache"/python-*.tar
		mv "$made.part" "$made"
	fi
	echo "$made"
}

# certificates makes an authority with a certificate for the engine and one for its clients, and a second
# authority that the engine does not know.
certificates() {
	local name
	mkdir -p "$run/certs/engine" "$run/certs/client" "$run/certs/stranger"
	cd "$run/certs"
	for name in ca stranger-ca; do
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=$name" -keyout "$name-key.pem" -out "$name.pem"
	done
	sign() { # DIRECTORY AUTHORITY USAGE
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout "$1/key.pem" -out "$1/request.pem"
		openssl x509 -req -days 30 -in "$1/request.pem" -CA "$2.pem" -CAkey "$2-key.pem" -CAcreateserial -out "$1/cert.pem" \
			-extfile <(printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=%s\n' "$3")
		cp "$2.pem" "$1/ca.pem"
	}
	sign engine ca serverAuth
	sign client ca clientAuth
	sign stranger stranger-ca clientAuth
	cd - >/dev/null
}

start() {
	local base
	stop
	mkdir -p "$run" "$state"
	base=$(base_image)
	certificates >"$run/certificates.log" 2>&1
	cat >"$run/registry.yml" <<-END
		version: 0.1
		storage: {filesystem: {rootdirectory: $state/registry}}
		http: {addr: "127.0.0.1:$registry_port"}
	END
	setsid docker-registry serve "$run/registry.yml" >"$run/registry.log" 2>&1 </dev/null &
	# A containerd of its own: with the machine's, two engines would share containers.
	setsid containerd --root "$state/containerd" --state "$run/containerd" --address "$run/containerd.sock" \
		>"$run/containerd.log" 2>&1 </dev/null &
	for _ in $(seq 100); do
		[ -S "$run/containerd.sock" ] && break
		sleep 0.1
	done
	setsid dockerd --containerd "$run/containerd.sock" --data-root "$state/docker" --exec-root "$run/exec" --pidfile "$run/docker.pid" \
		--bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
		-H "unix://$socket" -H "tcp://127.0.0.1:$tls_port" --tlsverify --tlscacert "$run/certs/engine/ca.pem" \
		--tlscert "$run/certs/engine/cert.pem" --tlskey "$run/certs/engine/key.pem" >"$run/docker.log" 2>&1 </dev/null &
	for _ in $(seq 300); do
		docker version >/dev/null 2>&1 && break
		sleep 0.1
	done
	if ! docker version >/dev/null 2>&1; then
		tail -n 20 "$run/docker.log" >&2
		echo "test-docker: the engine did not start" >&2
		exit 1
	fi
	docker import "$base" llm-sandbox-test/python:latest >/dev/null
	# An image with nothing in it but a directory, for what must work without a shell, from the registry.
	mkdir -p "$run/empty/data"
	tar -C "$run/empty" -c . | docker import - "127.0.0.1:$registry_port/llm-sandbox-test/empty:1" >/dev/null
	docker push -q "127.0.0.1:$registry_port/llm-sandbox-test/empty:1" >/dev/null
	docker image rm "127.0.0.1:$registry_port/llm-sandbox-test/empty:1" >/dev/null
	echo "test-docker: Docker $(docker version --format '{{.Server.Version}}') listens on $socket"
}

environment() {
	echo "SANDBOX_TEST_DOCKER=unix://$socket"
	echo "SANDBOX_TEST_DOCKER_TLS=tcp://127.0.0.1:$tls_port"
	echo "SANDBOX_TEST_DOCKER_CERTS=$run/certs"
	echo "SANDBOX_TEST_REGISTRY=127.0.0.1:$registry_port"
}

case ${1:-} in
start) start ;;
stop) stop ;;
env) environment ;;
run)
	shift
	for program in dockerd debootstrap docker-registry openssl; do
		if [ "$(id -u)" -ne 0 ] || ! command -v "$program" >/dev/null; then
			echo "test-docker: going on without an engine: it takes root and $program" >&2
			exec "$@"
		fi
	done
	trap stop EXIT
	start
	env $(environment) "$@"
	;;
*)
	sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
	;;
esac
