# Everything that is done with this repository. `make` lists it.

.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL := go tool -modfile=tools/go.mod

# The linters' cache of this checkout: a shared one tells what it found in another.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint

.PHONY: help
help: ## list what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: run
run: deps build ## start the service with a demo tenant, ask it two questions and keep serving
	hack/demo.sh

.PHONY: deps
deps: ## install PostgreSQL and pgvector if they are missing
	hack/deps.sh

.PHONY: build
build: ## build bin/ragd
	go build -trimpath -o bin/ragd ./cmd/ragd

# CI sets CI, with which a missing database fails the tests instead of skipping them.
.PHONY: test
test: deps ## run all tests against a real PostgreSQL, with the race detector
	go test -race -timeout 20m ./...

.PHONY: test-containers
test-containers: ## run the database tests in a container of PostgreSQL 17, wherever an engine runs
	hack/test-containers.sh

.PHONY: test-mcp-conformance
test-mcp-conformance: ## run the official conformance suite of MCP, which npm installs into a cache
	hack/mcp-conformance.sh

.PHONY: test-mcp-clients
test-mcp-clients: deps ## run MCP clients that others made, which npm installs into a cache, against the service
	hack/mcp-clients.sh

.PHONY: check
check: generated lint test ## everything CI demands; its last step is the tests

.PHONY: lint
lint: ## format, vet, linters, and the wire contract's own
	@test -z "$$(gofmt -l $$(git ls-files '*.go' ':!gen'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go' ':!gen'); exit 1; }
	go vet ./...
	$(TOOL) buf lint
	$(TOOL) golangci-lint run --allow-serial-runners

.PHONY: generate
generate: ## make gen/ from proto/
	$(TOOL) buf generate

.PHONY: generated
generated: generate ## fail if gen/ or go.mod is not what its sources say
	go mod tidy -diff
	@test -z "$$(git status --porcelain gen)" || { echo "gen/ was not up to date:"; git status --porcelain gen; exit 1; }

.PHONY: bench
bench: deps build ## measure ragd as a vector store against bare pgx and pgvector, and its ingest
	go run ./bench/retrieval -ragd bin/ragd
	go test -run '^$$' -bench Ingest -benchtime 3x ./cmd/ragd/internal/upload

.PHONY: bench-go
bench-go: deps ## run the Go benchmarks; compare two runs with `go tool -modfile=tools/go.mod benchstat`
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

.PHONY: clean
clean: ## remove what was built; data directories stay
	rm -rf bin .cache
