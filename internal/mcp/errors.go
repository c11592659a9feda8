package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// An errorRow says how an error of one kind reads for the client. The texts of errors with a kind are
// written for users and end in what to do; those of others stay in the log.
type errorRow struct {
	kind   error
	prefix string
	// text replaces the error's own.
	text string
}

// errorRows is the one table from the kind of an error to what a client is told. A test fails when a
// kind of package backend is missing.
func errorRows() []errorRow {
	return []errorRow{
		{kind: backend.ErrInvalid, prefix: "invalid request"},
		{kind: backend.ErrUnsupported, prefix: "unsupported"},
		{kind: backend.ErrRefused, prefix: "refused"},
		{kind: backend.ErrUnavailable, prefix: "unavailable"},
		{kind: backend.ErrNotFound, prefix: "not found"},
		{kind: backend.ErrBusy, prefix: "busy"},
		{kind: context.Canceled, prefix: "cancelled", text: "the call was cancelled before it ended"},
		{kind: context.DeadlineExceeded, prefix: "timed out", text: "the call did not end in the time allowed for it; try again, or do less at once"},
	}
}

// errorText returns what a client is told of err, and logs what it is not told.
func (s *server) errorText(err error) string {
	for _, row := range errorRows() {
		if !errors.Is(err, row.kind) {
			continue
		}
		if row.text != "" {
			return row.prefix + ": " + row.text
		}
		return row.prefix + ": " + err.Error()
	}
	id := rand.Text()[:8]
	s.Log.Error("internal error", "id", id, "error", err)
	return fmt.Sprintf("internal error: a fault of this server and not of the code; its log has the details as %s. "+
		"Trying again may help.", id)
}

// rpcError is errorText for methods that have no result to carry an error.
func (s *server) rpcError(err error) error {
	code := int64(jsonrpc.CodeInternalError)
	// Revisions of MCP before 2026-07-28 have a code of their own for resources that are not found, but
	// the SDK answers all with this one.
	if errors.Is(err, backend.ErrNotFound) || errors.Is(err, backend.ErrInvalid) {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: s.errorText(err)}
}
