// Package explain says in a few lines what happens to a control plane: which
// step it is at, what is waited for and since when, who holds it up, what comes
// next and what an operator can do.
//
// It is pure. What it says comes from one Snapshot, the planner's decision on
// it, and what else was found. For each rule of the planner it holds what comes
// after it and what can be done; a test keeps the two lists the same.
package explain
