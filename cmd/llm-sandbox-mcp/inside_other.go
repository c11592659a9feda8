//go:build !linux

package main

// landlockABI returns 0: Landlock is a part of Linux.
func landlockABI() int { return 0 }
