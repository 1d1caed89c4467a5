// Package trace keeps what was seen, decided and done, as a file of JSON
// lines: one Record for each decision about a control plane. Such a file can
// be read by people and programs, and its Snapshots can be decided on again.
//
// A Writer leaves out a record that says what the former one of the same
// control plane said, so that a control plane at rest writes nothing. Two
// records say the same when they differ only in
//
//   - when something was looked at: Record.Time, Snapshot.Now, Fact.At,
//     Blocker.Since. Times at which something happened do count;
//   - when to look again: Wait.Recheck;
//   - how far a member is behind, as long as it is on the same side of
//     model.MaxLag;
//   - the port of the near end of a connection in the text of an error.
//
// How many records were left out and when the last of them was made stands in
// the next record of the control plane. The last of all is written when the
// Writer is flushed or forgets the control plane. A program that is killed
// loses it, and nothing else.
package trace
