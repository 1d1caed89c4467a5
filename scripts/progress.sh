#!/bin/sh
# Usage: scripts/progress.sh "what is done" command [argument ...]
# Runs the command and says every 20 seconds that it is still running, so that
# a long first build is not mistaken for a hang. Passes on its exit code.
set -u
what=$1
shift
begin=$(date +%s)
echo "==> $what"
"$@" &
child=$!
trap 'kill $child 2>/dev/null; wait $child; exit 130' INT TERM
(
	while sleep 20; do
		echo "    ... $what: $(($(date +%s) - begin)) s"
	done
) &
ticker=$!
wait $child
code=$?
kill $ticker 2>/dev/null
wait $ticker 2>/dev/null
if [ $code -ne 0 ]; then
	echo "==> $what: failed after $(($(date +%s) - begin)) s" >&2
	exit $code
fi
echo "    $what: done in $(($(date +%s) - begin)) s"
