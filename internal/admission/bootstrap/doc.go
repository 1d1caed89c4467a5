// Package bootstrap has the defaults and the rules of admission for
// RKE2Configs and their templates. The settings of an RKE2Config are part of
// control planes too, so the rules for them are used by those as well.
package bootstrap
