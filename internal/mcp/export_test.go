package mcp

import (
	"encoding/json"
	"time"
)

// DecodeExecute lets tests and fuzzing decode arguments without a session.
func DecodeExecute(raw []byte, maxTimeout time.Duration) (code, language, stdin string, libraries []string, timeout time.Duration, notes []string, err error) {
	a, err := decodeExecute(json.RawMessage(raw), maxTimeout)
	return a.code, a.language, a.stdin, a.libraries, a.timeout, a.notes, err
}
