//go:build !unix

package stdio

import (
	"context"
	"os"
	"time"
)

// Watch returns "" when ctx ends. On this system the end of the input and errors of writing are the
// only signs of a client that has gone.
func Watch(ctx context.Context, _ time.Duration, _ *os.File) string {
	<-ctx.Done()
	return ""
}
