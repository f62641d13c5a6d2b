# Commands for working on this repository. `make` lists them.

.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL := go tool -modfile=tools/go.mod

# A cache for this checkout alone: a shared one reports findings of other checkouts.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: run
run: ## start the service with a demo tenant, ask it two questions and keep serving
	@$(MAKE) --no-print-directory --jobs=2 --output-sync deps build
	hack/demo.sh

.PHONY: deps
deps: ## install PostgreSQL and pgvector if they are missing
	internal/postgres/embedded/install.sh

.PHONY: build
build: ## build bin/ragd
	go build -trimpath -o bin/ragd ./cmd/ragd

# In CI (the variable CI is set) a missing database fails the tests; elsewhere they are skipped.
.PHONY: test
test: deps ## run all tests against a real PostgreSQL, with the race detector
	go test -race -timeout 20m ./...

.PHONY: test-containers
test-containers: ## run the database tests in a container of PostgreSQL 17; needs a container engine
	hack/test-containers.sh

.PHONY: test-mcp-conformance
test-mcp-conformance: ## run MCP's official conformance suite, which npm installs into a cache
	hack/mcp-conformance.sh

.PHONY: test-mcp-clients
test-mcp-clients: deps ## run third-party MCP clients, which npm installs into a cache, against the service
	hack/mcp-clients.sh

.PHONY: check
check: generated lint test ## run everything that CI runs: generated code, linters, tests

.PHONY: lint
lint: ## check formatting, vet, and lint Go code and the proto files
	@test -z "$$(gofmt -l $$(git ls-files '*.go' ':!gen'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go' ':!gen'); exit 1; }
	go vet ./...
	$(TOOL) buf lint
	$(TOOL) golangci-lint run --allow-serial-runners

.PHONY: generate
generate: ## generate gen/ from proto/, and the references of the API, commands and settings
	$(TOOL) buf generate
	go test ./cmd/ragd -count=1 -run '^TestReference' -update

GENERATED := gen docs/reference/api docs/reference/cli.md docs/reference/settings.md

.PHONY: generated
generated: generate ## fail if generated files or go.mod are not up to date
	go mod tidy -diff
	@test -z "$$(git status --porcelain $(GENERATED))" || { echo "not up to date:"; git status --porcelain $(GENERATED); exit 1; }

.PHONY: bench
bench: deps build ## compare ragd as a vector store with bare pgx and pgvector, and measure its ingest
	go run ./bench/retrieval -ragd bin/ragd
	go run ./bench/ingest -ragd bin/ragd
	go test -run '^$$' -bench Ingest -benchtime 3x ./cmd/ragd/internal/upload

N ?= 1000

.PHONY: bench-tenants
bench-tenants: deps build ## measure what N tenants on one database cost (default N=1000)
	go run ./bench/tenants -ragd bin/ragd -tenants $(N)

.PHONY: bench-go
bench-go: deps ## run the Go benchmarks; compare two runs with `go tool -modfile=tools/go.mod benchstat`
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

RELEASE_TOOLS := $(CURDIR)/.cache/release-tools

.PHONY: snapshot
snapshot: ## build archives, packages, checksums and bills of materials into dist/, without publishing
	GOBIN=$(RELEASE_TOOLS) go install github.com/goreleaser/goreleaser/v2@v2.12.7
	GOBIN=$(RELEASE_TOOLS) go install github.com/anchore/syft/cmd/syft@v1.42.0
	PATH="$(RELEASE_TOOLS):$$PATH" goreleaser release --snapshot --clean

.PHONY: clean
clean: ## remove build output; data directories stay
	rm -rf bin dist .cache

.PHONY: site
site: ## build the documentation as a web site in .cache/site; needs Python and npm
	hack/site.sh
