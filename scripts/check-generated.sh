#!/usr/bin/env bash
# Fails if "make generate" changes a file. It works on a copy, so that the files here stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar -c --exclude=./.git --exclude=./bin --exclude=./demo-output --exclude=node_modules --exclude=venv . | tar -x -C "$copy"
before=$(cd "$copy" && find . -type f -exec sha256sum {} + | sort)
(cd "$copy" && go generate ./...)
after=$(cd "$copy" && find . -type f -exec sha256sum {} + | sort)
if [ "$before" != "$after" ]; then
	echo "check-generated: these files are not what \"make generate\" writes; run it and commit them:" >&2
	diff <(echo "$before") <(echo "$after") | sed -n 's/^> [0-9a-f]*  /  /p' >&2
	exit 1
fi
echo "check-generated: generated files are current"
