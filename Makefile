# Everything a developer runs. CI runs the same targets, see .ci/run.

MAKEFLAGS += --no-print-directory
SHELL      := bash
.SHELLFLAGS := -euo pipefail -c

BIN       := bin/llm-sandbox-mcp
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
TOOL      := go tool -modfile=internal/tools/go.mod
FUZZTIME  ?= 10s
TESTFLAGS ?=
SIZE_MB   := 25
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  %-16s %s\n", $$1, $$2 }'

AGENTS := internal/agent/binary/agents

.PHONY: build
build: agents ## Build bin/llm-sandbox-mcp, static and stripped, with the agents for containers
	CGO_ENABLED=0 go build -trimpath -tags agents -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/llm-sandbox-mcp

.PHONY: agents
agents: ## Build the agents that the server brings into containers
	@mkdir -p $(AGENTS)
	@for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -ldflags '-s -w' -o $(AGENTS)/linux-$$arch ./cmd/sandbox-agent; \
		gzip -9nf $(AGENTS)/linux-$$arch; \
	done

.PHONY: demo
demo: ## Run a plotting program through the MCP protocol and write demo-output/plot.png
	@scripts/setup-debian.sh demo
	@$(MAKE) build
	@go run ./testdata/demo -server $(BIN) -out demo-output

.PHONY: test
test: ## Install what the tests need, then run everything that CI runs but lint and cross
	@scripts/setup-debian.sh test
	@scripts/setup-clients.sh
	@$(MAKE) vet check-generated size fuzz
	@scripts/test-docker.sh run $(MAKE) unit

.PHONY: unit
unit: ## Run the tests with the race detector, in random order
	go test -race -shuffle=on $(TESTFLAGS) ./...

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: lint
lint: ## Run golangci-lint at the version of internal/tools (its first build takes minutes)
	$(TOOL) golangci-lint run ./...

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what is linked (VULNDB=module: without vuln.go.dev)
	@scripts/vuln.sh $(VULNDB)

.PHONY: bench
bench: build ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: generate
generate: ## Rewrite what is generated: seccomp filters, tables of settings, the list of packages
	go generate ./...

.PHONY: check-generated
check-generated: ## Fail if "make generate" would change a file
	@scripts/check-generated.sh

.PHONY: cross
cross: ## Build and vet for every platform
	@for platform in $(PLATFORMS); do \
		export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		echo "cross: $$platform"; \
		go build ./...; \
		go vet ./...; \
	done

.PHONY: size
size: build ## Fail if the stripped binary is larger than 25 MB
	@bytes=$$(stat -c %s $(BIN)); \
	echo "size: $$bytes bytes of at most $$(($(SIZE_MB) * 1000000))"; \
	test $$bytes -le $$(($(SIZE_MB) * 1000000))

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin demo-output $(AGENTS)
