// Package service wires the whole of ragd: database, tenants, models, ingest,
// search, the RPC and MCP handlers, and the HTTP server in front of them. The
// command "ragd serve" and the end-to-end tests start the same Service.
//
//	s, err := service.New(ctx, service.Config{Listen: "127.0.0.1:8484", DataDir: dir})
//	...
//	defer s.Close()
//	err = s.Run(ctx) // until ctx ends
//
// New opens the listener and the database, applies the migrations that are due
// and connects the packages to each other; Run does the work; Close releases
// what New opened. The package holds no rules about tenants' data: those are in
// the packages that it connects.
package service
