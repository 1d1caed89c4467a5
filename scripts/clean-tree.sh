#!/bin/sh
# Fails when the work tree differs from the last commit: generated files must
# be committed, and tests must leave nothing behind.
set -u
changed=$(git status --porcelain)
if [ -n "$changed" ]; then
	echo "the work tree is not clean; commit these, or mend what made them:" >&2
	echo "$changed" >&2
	exit 1
fi
echo "clean tree"
