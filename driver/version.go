package driver

import "runtime/debug"

// buildVersion is the version of the main module, as the Go toolchain recorded it.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	if len(info.Main.Version) > 64 {
		return info.Main.Version[:64]
	}
	return info.Main.Version
}
