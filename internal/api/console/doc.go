// Package console serves the web page of the service and signs browsers in.
//
// The page is static files, built from console/ at the top of the repository. It calls the
// public API like any other client. Because a page should not keep a key, the service keeps
// it: signing in with a key sets a cookie with a random secret, and a row of the database holds
// the key, encrypted with a key derived from that secret. The database alone, or the cookie
// alone, reveals nothing.
//
//	POST   /console/session        key -> cookie
//	GET    /console/session        whether the browser is signed in
//	DELETE /console/session        sign out
//	POST   /console/links          key in Authorization -> a secret that signs in once
//	POST   /console/links/redeem   that secret -> cookie
//	GET    /console/oauth/start    to the authorization server
//	GET    /console/oauth/callback and back -> cookie
//	GET    /console/licenses       licences of what the binary contains
//
// Calls of the API with the cookie get the key as if it had been in Authorization, but only
// calls of the service's own page: a browser says so in Sec-Fetch-Site or Origin.
package console
