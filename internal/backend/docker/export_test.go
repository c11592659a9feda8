package docker

import (
	"encoding/json"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Places returns the addresses that e leads to, each with what named it and where its certificates are.
func Places(e Endpoint) ([]string, error) {
	list, err := e.addresses()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, a := range list {
		text := a.host + " from " + a.from
		if a.certs != "" {
			text += " certificates " + a.certs
		}
		if a.tls && a.certs == "" {
			text += " encrypted"
		}
		if a.verify {
			text += " verified"
		}
		out = append(out, text)
	}
	return out, nil
}

// Body returns what an engine is told of a sandbox.
func Body(spec backend.Spec, h Hardening, volume string, volumes ...string) ([]byte, error) {
	return json.MarshalIndent(newBody(spec, h, volume, volumes), "", "  ")
}
