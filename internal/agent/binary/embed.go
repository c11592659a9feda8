//go:build agents

package binary

import "embed"

// embedded holds what "make agents" has built just before.
//
//go:embed agents
var embedded embed.FS
