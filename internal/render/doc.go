// Package render turns the settings of one RKE2 machine into its bootstrap data: RKE2's config.yaml, the files around
// it, one shell script, and the cloud-config or Ignition config that carries them.
//
// The package is pure. Everything that has to be read from somewhere comes in through Input, and the same Input always
// gives the same bytes. Documents are marshalled from values; only the shell script is put together as text.
//
// What the script leaves on a machine, beside RKE2 itself, stands in the constants SentinelPath, FailurePath, LogPath
// and BootstrappedPath.
package render
