//go:build !race

package artifact_test

const raceEnabled = false
