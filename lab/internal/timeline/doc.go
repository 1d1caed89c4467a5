// Package timeline holds what one run of the laboratory observed, and turns it into things to read.
//
// A run appends Events to a Log while it goes on. Everything else in this package is computed from those events
// alone: rows with phases and marks (Build), the checks of the order in which a server must leave (CheckLeaving),
// a table for the terminal (Text) and one self-contained page (HTML). Nothing here does I/O beyond the writer it
// is given, so a recorded log can be judged again later.
package timeline
