# Commands for working on this repository. `make` lists them.

.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL := go tool -modfile=tools/go.mod

# Without the names of folders in what is compiled, checkouts share Go's build cache. The tag leaves the traces
# out that gRPC draws with html/template: a template has the linker keep every exported method, a sixth of the binary.
export GOFLAGS := $(filter-out -trimpath -tags=%,$(GOFLAGS)) -trimpath -tags=grpcnotrace
# A program with the race detector sleeps for a second before it ends, to see more races: a hundred packages
# and as many commands that tests start would wait for nothing.
export GORACE ?= atexit_sleep_ms=0

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: run
run: ## start the service with a demo tenant, ask it two questions and keep serving
	@$(MAKE) --no-print-directory --jobs=2 --output-sync deps build
	hack/demo.sh

.PHONY: deps
deps: ## install PostgreSQL and pgvector if they are missing
	internal/operate/postgres/embedded/install.sh

.PHONY: build
build: ## build bin/ragd
	go build -o bin/ragd ./cmd/ragd

.PHONY: console
console: ## build the web page and the answer box into internal/api/console/dist and answerbox/dist, which `make build` embeds; installs Node.js if it is missing
	hack/console.sh
	go run ./hack/notices # the list of packages may have changed

# Package regexp without the race detector: what its programs share are pools and constants, and the tests of chunking
# take a third of the processor time. The same for a package that instantiates generic atomics would hide their order
# from the detector, which then reports races that are none.
RACE := -race -gcflags=regexp=-race=false

# In CI (the variable CI is set) a missing database fails the tests; elsewhere they are skipped.
.PHONY: test
test: deps ## run all tests against a real PostgreSQL, with the race detector, and beside them the tests of the web page
	hack/test-tools.sh
	go test -count=1 ./internal/ingest/parse/pdftext # compiles PDFium for the children of the tests, which have too little memory for it with the race detector
	hack/beside.sh 'the page in the browser=hack/test-console.sh' \
		'quality, memory, long texts=hack/without-race.sh' \
		-- hack/in-memory.sh hack/failures.sh go test $(RACE) -count=1 -vet=off -timeout 30m ./...

.PHONY: test-fast
test-fast: deps ## run the tests of changed packages and of those that import them, without the race detector; SINCE=origin/main
	hack/test-fast.sh $(SINCE)

.PHONY: test-long
test-long: deps ## run the heavy sweeps that `make test` leaves out: long property tests, kills, soak, fairness, crash loops
	hack/test-long.sh

.PHONY: flaky
flaky: deps ## run all tests N times (default 10), LOAD of them (default 3) beside four busy processes, and name those that failed
	hack/flaky.sh $(or $(N),10) $(or $(LOAD),3)

.PHONY: test-console
test-console: deps ## test the web page in Chromium, which apt installs, against the service
	hack/test-console.sh

.PHONY: screenshots
screenshots: deps build ## make the pictures of the console in docs/images
	hack/test-console.sh screenshots.mjs

.PHONY: test-containers
test-containers: ## run the database tests in a container of PostgreSQL 17; needs a container engine
	hack/test-containers.sh

.PHONY: test-postgres17
test-postgres17: ## run the database tests against PostgreSQL 17, which is unpacked from Debian's packages, or in a container
	hack/test-postgres17.sh

.PHONY: test-citus
test-citus: ## run tests of tenants' statements against Citus, a coordinator and two workers, which is built from source
	hack/test-citus.sh

.PHONY: test-deploy
test-deploy: ## check the chart, compose.yaml and, with a container engine, the image in deploy
	hack/test-deploy.sh

.PHONY: test-faults
test-faults: deps ## let faults of the database and its network last a minute each, and a steady load half an hour
	RAGD_TEST_LONG=1 RAGD_TEST_HUGE=1 go test -count=1 -v -timeout 90m -run 'TestFaults|TestASteady' ./internal/service

.PHONY: test-scale
test-scale: deps ## let tenants live in three PostgreSQL servers and be moved between them, under load, for some minutes
	hack/test-scale.sh

FUZZTIME ?= 5m

.PHONY: fuzz
fuzz: ## let each fuzz test look for inputs that fail, for FUZZTIME (default 5m)
	hack/fuzz.sh $(FUZZTIME)

.PHONY: test-quality
test-quality: deps ## compare the quality of searches with its floors on the labelled sets in the folder RAGD_TEST_DATASETS
	hack/test-quality.sh

.PHONY: test-alerts
test-alerts: ## test the alert rules in deploy/prometheus with promtool, which apt installs
	hack/test-alerts.sh

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in the code that the binary calls
	hack/vulncheck.sh

.PHONY: test-mcp-conformance
test-mcp-conformance: ## run MCP's official conformance suite, which npm installs into a cache
	hack/mcp-conformance.sh

.PHONY: test-mcp-clients
test-mcp-clients: deps ## run third-party MCP clients, which npm installs into a cache, against the service
	hack/mcp-clients.sh

.PHONY: test-mcp-servers
test-mcp-servers: deps ## run connectors against MCP servers of others, which npm and PyPI install into a cache
	hack/mcp-servers.sh

.PHONY: test-sdks
test-sdks: deps ## test the client libraries and adapters, whose tools come from npm and PyPI, against the service
	hack/test-sdks.sh

# The linters, and the checks that need something which a machine may lack, run beside the tests.
.PHONY: check
check: deps ## run everything that CI runs: generated code, linters, tests; ends with a list of what could not be run
	hack/beside.sh \
		'lint=make lint' \
		'generated code=make generated' \
		'other systems=hack/cross.sh' \
		'PostgreSQL 17=hack/test-postgres17.sh' \
		"MCP's conformance suite=hack/mcp-conformance.sh" \
		'third-party MCP clients=hack/mcp-clients.sh' \
		'third-party MCP servers=hack/mcp-servers.sh' \
		'known vulnerabilities=hack/vulncheck.sh' \
		'alert rules=hack/test-alerts.sh' \
		'quality on labelled sets=hack/test-quality.sh' \
		-- make test

.PHONY: lint
lint: ## check formatting, vet, and lint Go code and the proto files
	@test -z "$$(gofmt -l $$(git ls-files '*.go' ':!gen'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go' ':!gen'); exit 1; }
	go vet ./gen/... # golangci-lint has the analyzers of go vet, and leaves out what is generated
	go vet -C hack/ranks ./...
	go vet -C hack/testservers ./...
	$(TOOL) buf lint
	$(TOOL) buf breaking --against proto/released.binpb
	hack/golangci-lint.sh

.PHONY: generate
generate: protos kernels ranks ## generate gen/ from proto/, the references of the API, commands and settings, and the licences of others
	go run ./hack/pdfium
	go run ./hack/notices
	go test ./cmd/ragd -count=1 -run '^TestReference' -update

.PHONY: protos
protos: ## generate gen/, the reference of the API and the Python messages from proto/
	$(TOOL) buf generate

.PHONY: kernels
kernels: ## generate the assembly of internal/model/localmodel/kernel
	cd hack/kernels && go run . -out $(CURDIR)/internal/model/localmodel/kernel/kernels_amd64.s -stubs $(CURDIR)/internal/model/localmodel/kernel/stubs_amd64.go -pkg kernel
	sed -i '1s/.*/\/\/ Code generated by hack\/kernels. DO NOT EDIT./' internal/model/localmodel/kernel/kernels_amd64.s internal/model/localmodel/kernel/stubs_amd64.go

.PHONY: ranks
ranks: ## generate the tables of internal/chunk/tokenizer
	cd hack/ranks && go run . -out $(CURDIR)/internal/chunk/tokenizer/ranks

MODELS_DIR ?=

.PHONY: test-models
test-models: ## compare the models in the folder MODELS_DIR with PyTorch and measure them
	MODELS_DIR=$(abspath $(MODELS_DIR)) go test -count=1 -v -run TestRealModels ./internal/model/localmodel

GENERATED := gen sdk/python/src/ragd/api internal/api/console/dist internal/api/answerbox/dist internal/api/openapi/document internal/chunk/tokenizer/ranks internal/ingest/parse/pdftext/pdfium.wasm.zst hack/notices/console.json internal/operate/notices/THIRD_PARTY_NOTICES internal/model/localmodel/kernel docs/reference/api docs/reference/cli.md docs/reference/settings.md

.PHONY: generated
generated: ## fail if generated files or go.mod are not up to date
	hack/generated.sh $(GENERATED)

.PHONY: bench
bench: deps build ## compare ragd as a vector store with bare pgx and pgvector, and measure its ingest
	go run ./bench/retrieval -ragd bin/ragd
	go run ./bench/ingest -ragd bin/ragd
	go run ./bench/connector -ragd bin/ragd
	go run ./bench/agents -ragd bin/ragd
	go test -run '^$$' -bench Ingest -benchtime 3x ./cmd/ragd/internal/upload

.PHONY: bench-peers
bench-peers: deps build ## compare ragd as a vector store with Weaviate and with bare pgx and pgvector
	go -C bench/peers build -o $(CURDIR)/bin/weaviate github.com/weaviate/weaviate/cmd/weaviate-server
	go run ./bench/retrieval -ragd bin/ragd -weaviate bin/weaviate

N ?= 1000

.PHONY: bench-tenants
bench-tenants: deps build ## measure what N tenants on one database cost (default N=1000)
	go run ./bench/tenants -ragd bin/ragd -tenants $(N)

.PHONY: bench-sleep
bench-sleep: deps build ## measure what tenants cost that are asleep (default N=1000)
	go run ./bench/sleep -ragd bin/ragd -tenants $(N) -sizes 20,1000,50000

.PHONY: bench-first-minute
bench-first-minute: deps ## measure what a newcomer waits for: clone to first answer, the page signed in, a first own upload searched
	hack/first-minute.sh

.PHONY: bench-go
bench-go: deps ## run the Go benchmarks; compare two runs with `go tool -modfile=tools/go.mod benchstat`
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

.PHONY: release-protos
release-protos: ## make the API of this checkout that of the last release, from which `make lint` allows no breaking change
	$(TOOL) buf build --exclude-source-info -o proto/released.binpb

.PHONY: release-database
release-database: ## keep a database of this checkout, which all later ones must be able to upgrade: RELEASE=v1.2.0 with a release, without it until the first one
	go test ./internal/service -count=1 -run '^TestMakeRelease$$' -release $(or $(RELEASE),unreleased)
	$(if $(RELEASE),rm -f internal/service/testdata/releases/unreleased.*)

RELEASE_TOOLS := $(CURDIR)/.cache/release-tools

.PHONY: snapshot
snapshot: ## build archives, packages, checksums and bills of materials into dist/, without publishing
	GOBIN=$(RELEASE_TOOLS) go install github.com/goreleaser/goreleaser/v2@v2.12.7
	GOBIN=$(RELEASE_TOOLS) go install github.com/anchore/syft/cmd/syft@v1.42.0
	RAGD_RELEASE=$$(sed -n 's/^const Release = "\(.*\)"$$/\1/p' cmd/ragd/internal/build/build.go) PATH="$(RELEASE_TOOLS):$$PATH" goreleaser release --snapshot --clean

.PHONY: package-model
package-model: ## pack a local model for Debian and Red Hat into dist/: MODEL=folder LICENSE=file, VERSION=1.0.0
	hack/package-model.sh packages "$(MODEL)" "$(LICENSE)"

.PHONY: image-model
image-model: ## build an image of ragd with a local model inside: MODEL=folder LICENSE=file IMAGE=ragd:with-model, BASE=ragd:latest
	hack/package-model.sh image "$(MODEL)" "$(LICENSE)" "$(or $(IMAGE),ragd:with-model)" "$(or $(BASE),ragd:latest)"

.PHONY: clean
clean: ## remove build output; data directories stay
	rm -rf bin dist .cache

.PHONY: site
site: ## build the documentation as a web site in .cache/site; needs Python and npm
	hack/site.sh
