package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A callID is the id of a request.
type callID = jsonrpc.ID

// A refusal is the answer to a line, or to a part of a batch, that is no message.
type refusal struct {
	id     callID // invalid if unknown
	code   int64
	reason string
}

// encode returns the answer as JSON. Its id is null when unknown, which the SDK's encoder leaves out.
func (r refusal) encode() []byte {
	answer := struct {
		Version string        `json:"jsonrpc"`
		ID      any           `json:"id"`
		Error   jsonrpc.Error `json:"error"`
	}{"2.0", r.id.Raw(), jsonrpc.Error{Code: r.code, Message: r.reason}}
	data, err := json.Marshal(answer)
	if err != nil { // an id is a string or a number
		panic(fmt.Sprintf("stdio: encode refusal: %v", err))
	}
	return data
}

// A frame is what one line holds: messages and refusals in the order of the line.
type frame struct {
	parts []part
	// batch says that the answers belong into one array.
	batch bool
}

// A part is one message, or the refusal of what should have been one.
type part struct {
	message jsonrpc.Message
	refusal *refusal
}

// parse returns what a line holds; nothing if it is blank.
func parse(l line) frame {
	if l.tooLong() {
		return refused(refusal{id: findID(l.head, l.tail), code: jsonrpc.CodeInvalidRequest,
			reason: "message: too long; send less at once, or raise SANDBOX_MAX_MESSAGE"})
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(l.text, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return frame{}
	case !utf8.Valid(text):
		return refused(refusal{id: idOf(bytes.ToValidUTF8(text, []byte("\ufffd"))), code: jsonrpc.CodeParseError,
			reason: fmt.Sprintf("message: not valid UTF-8 at byte %d", invalidAt(text))})
	case text[0] == '[':
		return parseBatch(text)
	}
	return frame{parts: []part{parseMessage(text)}}
}

func refused(r refusal) frame { return frame{parts: []part{{refusal: &r}}} }

// parseBatch reads an array of messages. Revisions of MCP before 2025-06-18 have them; they are
// understood in all.
func parseBatch(text []byte) frame {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return refused(refusal{code: jsonrpc.CodeParseError, reason: "message: " + err.Error()})
	}
	if len(items) == 0 {
		return refused(refusal{code: jsonrpc.CodeInvalidRequest, reason: "message: the batch is empty"})
	}
	f := frame{batch: true}
	for _, item := range items {
		f.parts = append(f.parts, parseMessage(item))
	}
	return f
}

// parseMessage reads one JSON value as a message.
func parseMessage(text []byte) part {
	var m struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); wrongType {
			return part{refusal: &refusal{code: jsonrpc.CodeInvalidRequest, reason: "message: must be a JSON object"}}
		}
		return part{refusal: &refusal{code: jsonrpc.CodeParseError, reason: "message: " + err.Error()}}
	}
	id, err := parseID(m.ID)
	invalid := func(reason string) part {
		return part{refusal: &refusal{id: id, code: jsonrpc.CodeInvalidRequest, reason: reason}}
	}
	var method string
	switch {
	case err != nil:
		return invalid(err.Error())
	case string(m.Version) != `"2.0"`:
		return invalid(`jsonrpc: must be "2.0"`)
	case m.Method == nil && (m.Result != nil || m.Error != nil):
		// An answer to a request of ours. A bad one is nothing to answer.
		response, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			return part{}
		}
		return part{message: response}
	case m.Method == nil:
		return invalid("method: missing")
	case json.Unmarshal(m.Method, &method) != nil || method == "":
		return invalid("method: must be a string that is not empty")
	}
	return part{message: &jsonrpc.Request{ID: id, Method: method, Params: m.Params}}
}

// parseID reads the id of a message; without one it returns the invalid ID. Numbers that would come
// back changed are refused.
func parseID(raw json.RawMessage) (callID, error) {
	if raw == nil {
		return callID{}, nil
	}
	const exact = 1 << 53 // integers up to here survive a float64
	var id any
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return callID{}, fmt.Errorf("id: %w", err)
		}
		id = s
	} else if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n == math.Trunc(n) && math.Abs(n) <= exact {
		id = n
	} else {
		return callID{}, errors.New("id: must be a string or an integer of at most 53 bits")
	}
	return jsonrpc.MakeID(id)
}

// idOf returns the id of the message in text, or the invalid ID.
func idOf(text []byte) callID {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(text, &m) != nil {
		return callID{}
	}
	id, err := parseID(m.ID)
	if err != nil {
		return callID{}
	}
	return id
}

// findID looks for the id of a message of which only both ends are known. It finds an id that stands
// before the parameters, or last.
func findID(head, tail []byte) callID {
	if id := leadingID(head); id.IsValid() {
		return id
	}
	// In valid JSON `"id":…}` at the very end, with one brace, is a member of the message itself.
	if i := bytes.LastIndex(tail, []byte(`"id"`)); i >= 0 {
		return idOf(append([]byte("{"), bytes.TrimSpace(tail[i:])...))
	}
	return callID{}
}

// leadingID returns the id among the first members of the message that begins with head, as long as
// their values are no objects or arrays.
func leadingID(head []byte) callID {
	dec := json.NewDecoder(bytes.NewReader(head))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return callID{}
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return callID{}
		}
		value, err := dec.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return callID{}
		}
		if key != "id" {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return callID{}
		}
		id, err := parseID(raw)
		if err != nil {
			return callID{}
		}
		return id
	}
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}
