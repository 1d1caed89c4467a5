// Package architecture holds the test that keeps imports going one way, and
// the planner and its neighbours free of I/O and of the clock.
package architecture
