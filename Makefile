# ChokaQ for SQL Server. "make" or "make help" lists the targets.

GO      ?= go
DIR     ?= .
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMPOSE  = docker compose -f docker-compose.mssql.yml
LDFLAGS  = -s -w -X main.version=$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help demo test chaos protocol contention lint grammar build bench up down test-mssql

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## Show the whole life of the queue on the files of DIR (default: this repository), without SQL Server
	./bin/chokaq-worker demo --dir "$(DIR)"

test: ## Run every test with the race detector, on sqlsim (or on the server in CHOKAQ_TEST_DSN)
	$(GO) test -race -timeout 9m ./...
	cd deploy && $(GO) test -timeout 9m ./...

chaos: ## Stop, kill, freeze and cut off real workers at random; ROUNDS=200 rounds by default, SEED=n to repeat
	ROUNDS=$${ROUNDS:-200} $(GO) test -count 1 -timeout 6h -v -run TestChaos ./integration/chaos

contention: ## Let 200 sessions do everything at once for TIME=1m, and check that nobody deadlocks and the books balance
	CHOKAQ_TEST_CONTENTION_TIME=$${TIME:-1m} $(GO) test -race -count 1 -timeout 6h -v -run TestContention ./integration

protocol: ## Visit every state of the shutdown protocol's model and check its invariants (some minutes, 3 GB)
	CHOKAQ_TEST_PROTOCOL=full $(GO) test -count 1 -timeout 60m -v ./integration/protocol

lint: ## Check format, vet and staticcheck
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not gofmt-ed:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	tool=$$($(GO) tool -n staticcheck) && cd deploy && $(GO) vet ./... && $$tool ./...

grammar: ## Parse all T-SQL, that of the documents too, with the public ANTLR grammar (needs Node.js and npm; some minutes)
	cd integration/grammar && npm ci --silent --no-audit --no-fund --ignore-scripts
	node integration/grammar/check.cjs $$(git ls-files '*.sql' '*.md')

build: ## Build bin/chokaq-worker, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/chokaq-worker ./cmd/chokaq-worker

bench: ## Print benchmarks in the form that benchstat reads
	$(GO) test -run '^$$' -bench . -benchmem -count $${COUNT:-1} ./integration ./driver

up: ## Start SQL Server 2022 with Agent, the schema, and two workers (needs Docker)
	$(COMPOSE) up --build --detach --wait

down: ## Stop them and remove their data
	$(COMPOSE) down --volumes

test-mssql: ## Run the integration suite on the SQL Server of "make up"
	CHOKAQ_TEST_DSN="$${CHOKAQ_TEST_DSN:-sqlserver://sa:$${MSSQL_SA_PASSWORD:-Chokaq-Dev-2022}@127.0.0.1:1433?encrypt=true&TrustServerCertificate=true}" $(GO) test -race -timeout 30m -count 1 ./integration
