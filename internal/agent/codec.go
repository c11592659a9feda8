package agent

import "encoding/binary"

// A codec appends values to b, or takes them from its beginning: each message describes itself once,
// for both directions. Numbers are varints, strings and lists are led by their length.
type codec struct {
	b      []byte
	encode bool
	// bad says that b did not hold what was asked for; from then on every value stays as it is.
	bad bool
}

func number[T ~int | ~int64](c *codec, v *T) {
	if c.encode {
		c.b = binary.AppendVarint(c.b, int64(*v))
		return
	}
	n, size := binary.Varint(c.b)
	if c.bad || size <= 0 || int64(T(n)) != n {
		c.bad = true
		return
	}
	*v, c.b = T(n), c.b[size:]
}

// length codes the number of bytes or elements that follow. Every element takes at least a byte, so a
// length beyond the rest of the message is a lie.
func (c *codec) length(n int) int {
	number(c, &n)
	if !c.encode && (n < 0 || n > len(c.b)) {
		c.bad = true
	}
	if c.bad {
		return 0
	}
	return n
}

func (c *codec) bool(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(c, &n)
	*v = n != 0
}

func (c *codec) string(v *string) {
	n := c.length(len(*v))
	if c.encode {
		c.b = append(c.b, *v...)
		return
	}
	*v, c.b = string(c.b[:n]), c.b[n:]
}

func (c *codec) strings(v *[]string) {
	n := c.length(len(*v))
	if !c.encode {
		*v = nil
		if n > 0 {
			*v = make([]string, n)
		}
	}
	for i := range *v {
		c.string(&(*v)[i])
	}
}
