package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

// executeCode is the tool execute_code.
func (s *server) executeCode(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	args, err := decodeExecute(call.Params.Arguments, s.MaxTimeout)
	if err != nil {
		return nil, err
	}
	req := engine.Request{
		Language:  args.language,
		Code:      args.code,
		Libraries: args.libraries,
		Stdin:     args.stdin,
		Timeout:   args.timeout,
		Artifacts: true,
	}
	if token := call.Params.GetProgressToken(); token != nil {
		progress := startProgress(ctx, call.Session, token)
		defer progress.stop() // before the result is sent
		req.Progress = progress.event
	}
	resp, err := s.Engine.Execute(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.render(resp, args.notes), nil
}

// withDefaultTimeout puts the configured timeout in the place of the default in the schema.
func (s *server) withDefaultTimeout(schema json.RawMessage) json.RawMessage {
	configured := fmt.Appendf(nil, `"default": %.0f`, math.Ceil(s.Timeout.Seconds()))
	return bytes.Replace(schema, []byte(`"default": 30`), configured, 1)
}
