#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other: scripts/fuzz.sh [TIME]
# Inputs are minimised briefly: with the default of a minute, the time would go into that.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10s}
count=0
while read -r package target; do
	echo "fuzz: $target in $package for $time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x "./$package"
	count=$((count + 1))
done < <(grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | sort |
	while read -r file; do
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | sed "s|^|$(dirname "${file#./}") |"
	done)
echo "fuzz: $count targets run"
test "$count" -gt 0
