// Package service connects the packages of ragd to one running service: database,
// tenants, models, ingest, search, the RPC and MCP handlers, and the HTTP server in
// front of them. "ragd serve" and the end-to-end tests start the same Service.
//
//	s, err := service.New(ctx, service.Config{Listen: "127.0.0.1:8484", DataDir: dir})
//	...
//	defer s.Close()
//	err = s.Run(ctx) // until ctx ends
//
// New opens the listener and the database, applies pending migrations and connects
// the packages; Run serves requests and works on jobs; Close releases what New
// opened. The package has no rules about tenants' data: the packages that it
// connects have them.
//
// The wing may import every other one. Below it, in testing, are doubles and fixtures of
// tests, which never reach the binary.
package service
