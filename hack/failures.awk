# Names the tests that failed in what `go test` or Node.js printed: "PACKAGE TEST" a line. Of a package whose time was
# up, those that were running then.
/^ *--- FAIL: / { names[++count] = $3; next }
/^panic: test timed out/ { names[++count] = $0; next }
/^\t?running tests:/ { running = 1; next }
running && /^\t+Test/ { names[++count] = $1 " was running, " $2; next }
{ running = 0 }
/^(FAIL|ok)[ \t]+[^ \t]+/ {
	if ($1 == "FAIL") {
		if (count == 0) names[++count] = "(no test)"
		for (i = 1; i <= count; i++) print $2 " " names[i]
	}
	count = 0
}
/^✖ / && !/failing tests/ { print "console/test " $0 }
