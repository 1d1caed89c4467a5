// Package scope reads from the management cluster what one reconcile of a
// control plane works on. Its values are API objects: they are read only, and
// must be copied before they are changed.
package scope
