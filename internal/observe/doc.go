// Package observe looks at a control plane and writes down what it sees as a
// model.Snapshot. What could not be seen becomes an unknown fact with the
// reason; only reads of the management cluster that nothing can be said
// without are errors.
package observe
