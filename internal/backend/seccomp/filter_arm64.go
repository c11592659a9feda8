package seccomp

import _ "embed"

//go:embed filter_arm64.bpf
var filter []byte
