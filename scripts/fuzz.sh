#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other: scripts/fuzz.sh [TIME]
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET. Inputs are minimised briefly: by default a minute goes into each. When the time
# ends in the middle of that, the go command may call its own deadline a failure; it is none if no
# input failed.
fuzz() {
	if go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 100x "./$1" >"$log" 2>&1; then
		grep '^ok' "$log"
	elif grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input\|panic:' "$log"; then
		echo "ok  	$1	(the time ended while an input was minimised)"
	else
		cat "$log"
		return 1
	fi
}

count=0
while read -r package target; do
	echo "fuzz: $target in $package for $time"
	fuzz "$package" "$target"
	count=$((count + 1))
done < <(grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | sort |
	while read -r file; do
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | sed "s|^|$(dirname "${file#./}") |"
	done)
echo "fuzz: $count targets run"
test "$count" -gt 0
