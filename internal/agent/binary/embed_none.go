//go:build !agents

package binary

import "embed"

// embedded is empty in a build without the tag agents.
var embedded embed.FS
