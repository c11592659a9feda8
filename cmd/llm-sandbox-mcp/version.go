package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker in releases: -ldflags "-X main.version=v1.2.3".
var version string

// programVersion is the release, or what the go command knows of the build.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "(devel)")
	}
	return "(devel)"
}

// printVersion is the command version.
func printVersion(_ context.Context, args []string, std streams) int {
	if len(args) > 0 {
		return usageError(std, "version takes no arguments")
	}
	fmt.Fprintf(std.out, "llm-sandbox-mcp %s\n", programVersion())
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if revision := settings["vcs.revision"]; revision != "" {
			fmt.Fprintf(std.out, "revision %s %s", revision, settings["vcs.time"])
			if settings["vcs.modified"] == "true" {
				fmt.Fprint(std.out, ", modified")
			}
			fmt.Fprintln(std.out)
		}
	}
	fmt.Fprintf(std.out, "%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}
