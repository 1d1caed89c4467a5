// Package act carries out the actions that the planner chose, one at a time.
//
// A plan is advice: every action reads again, past all caches, what its
// safety rests on, and refuses when that no longer holds. A refusal is no
// failure; the loop observes again and decides anew. Every action can be
// repeated, and a crash between two of its writes leaves a state that the
// next observation understands.
package act
