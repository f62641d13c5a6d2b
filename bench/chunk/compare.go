// Package chunk compares the splitters of ragd with those of
// github.com/tmc/langchaingo on the same text in the same run. It is a module
// of its own so that the product does not depend on the peer.
//
//	cd bench/chunk && go test -bench . -benchtime 2s
//
// The ratio column is our rate over the peer's, from alternating runs.
package chunk
