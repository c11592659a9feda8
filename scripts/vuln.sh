#!/usr/bin/env bash
# Looks for known vulnerabilities in what the server links. The database is that of vuln.go.dev; with
# "module" as argument it is built from the module golang.org/x/vulndb instead, for machines that reach
# only the module proxy. That takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

vulndb=golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018
args=()
if [ "${1:-}" = module ]; then
	db=$(mktemp -d)
	trap 'chmod -R u+w "$db" && rm -rf "$db"' EXIT
	dir=$(cd "$db" && go mod download -json "$vulndb" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	(cd "$db" && go run "golang.org/x/vulndb/cmd/indexdb@${vulndb#*@}" -vulns "$dir/data/osv" -out "$db/index")
	args=(-db "file://$db/index")
fi
go tool -modfile=internal/tools/go.mod govulncheck "${args[@]}" ./cmd/...
