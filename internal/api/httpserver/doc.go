// Package httpserver is the outermost layer of the HTTP server. It serves with
// limits on headers and idle connections and drains on shutdown (Serve), ends
// requests whose bodies stop arriving (Limit), rejects foreign host names and web
// origins (Guard), and gives every request an id and
// one line in the log (Log). Inner handlers add attributes to that line, such as the
// caller (Add) and the error (Fail).
package httpserver
