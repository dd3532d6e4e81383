# ppscript needs Go and nothing else to build; the long tests need what tests/run/needs.txt lists.

GO ?= go
export CGO_ENABLED = 0

# Everything below one package, without the cache that git and editors keep.
GOFILES = $(shell find . -name '*.go' -not -path './.git/*')

.DEFAULT_GOAL := help
.PHONY: help build demo test test-all cleanroot race check lint vulnerable bench flat microbench generate docs install dist formats vm clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The first build compiles everything, for a minute or two: a quarter of that is Go's own library, a sixth each SQLite and the NATS
# server, a quarter ppscript. It says how far it is. Later ones take seconds and compile little, so they say nothing. Whatever is no
# name of a package is a message of the compiler, and stays. With GOGC=400 the compiler collects its garbage less often, which takes
# a third less time of the CPU for the largest packages.
build: ## build ./ppscript, a static binary; TAGS=nohub leaves out the server of `ppscript hub`, 9 of its 47 MB without debug information
	@echo "$(GO) build -trimpath$(if $(TAGS), -tags $(TAGS)) -o ppscript ./cmd/ppscript"
	@{ GOGC=$${GOGC:-400} $(GO) build -v -trimpath $(if $(TAGS),-tags $(TAGS)) -o ppscript ./cmd/ppscript 2>&1; echo "exit $$?"; } | awk ' \
		/^exit [0-9]+$$/ { exit $$2 } \
		/^[A-Za-z0-9._\/-]+$$/ { if (++n == 1) print "compiling; the first time it takes a minute or two"; \
			if (n % 25 == 0) print "  " n " packages compiled, the last one " $$0; fflush(); next } \
		{ print; fflush() }'

# The demonstration needs no hub: without its server a sixth less is compiled first. The next make brings it.
demo: TAGS = nohub
demo: build ## show why virtual CPUs leave the guest, live if a guest runs here, else over a recording; then system calls, live
	@if ./ppscript kvm-exit --duration 2s >demo.out 2>demo.err && grep -q . demo.out; then \
		echo "live, two seconds of this machine's guests:"; cat demo.out; \
	else \
		echo "a recording of a guest's two virtual CPUs (none runs here that may be observed), tests/data/kvm.data:"; \
		./ppscript kvm-exit --input tests/data/kvm.data; \
	fi; echo; \
	if ./ppscript syscalls --duration 2s >demo.out 2>demo.err; then \
		echo "live, two seconds of this machine's system calls:"; head -n 14 demo.out; \
	else \
		echo "Live events need rights that you lack: sudo ./ppscript syscalls --duration 2s; ./ppscript doctor tells more."; \
	fi; rm -f demo.out demo.err

test: ## run the tests that are true on any machine, in minutes; as root they try the kernel as well
	@$(GO) run ./tests/run $(if $(SLOWEST),-slowest $(SLOWEST))

test-all: ## run the long tests: guests, other tools' numbers, browsers, packages; ANYWAY=1 where programs are missing
	@$(GO) run ./tests/run -all $(if $(ANYWAY),-anyway) $(if $(SLOWEST),-slowest $(SLOWEST))

cleanroot: ## run make test in a Debian with Go, gcc and git alone, as a user and as root without /sys; needs root, mmdebstrap
	@bash tests/cleanroot.sh

race: ## run the short tests with the race detector; needs gcc
	@$(GO) run ./tests/run -race

check: ## check format, both architectures, and the layers of the tree
	@unformatted=$$(gofmt -l $(GOFILES)); test -z "$$unformatted" || { echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	GOOS=linux GOARCH=amd64 $(GO) vet ./...
	GOOS=linux GOARCH=arm64 $(GO) vet ./...
	$(GO) vet -tags nohub ./cmd/ppscript/...
	$(GO) test ./tests/layout

# Its modules are in a go.mod of their own: the program's needs none of them.
lint: ## look for code that is wrong or that nothing uses, with staticcheck; some minutes, unless it has looked before
	$(GO) tool -modfile=tests/lint/go.mod staticcheck -checks 'SA*,S1*,U1000' ./...

vulnerable: ## look for known vulnerabilities in what ppscript calls, with govulncheck; the list comes from the module proxy
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && \
		list=$$(cd "$$d" && $(GO) mod download -json golang.org/x/vulndb@latest | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && \
		$(GO) run ./tests/vulndb -o "$$d" "$$list/data/osv" && \
		$(GO) tool -modfile=tests/lint/go.mod govulncheck -db "file://$$d" ./cmd/ppscript

bench: build ## measure how much slower a traced program gets, beside perf and bpftrace; needs root
	$(GO) run ./tests/bench

flat: build ## measure whether memory stays the same for a minute of each profiler at full rate; needs root
	$(GO) run ./tests/flat

FUZZTIME ?= 10m

fuzz: ## feed all parsers with damaged input, each for FUZZTIME (10m); FUZZ=WORD takes those of a package, or whose name has it
	GO="$(GO)" bash tests/fuzz.sh $(FUZZTIME) "$(FUZZ)"

SOAK ?= 2h

soak: build ## run profilers under stress, forks and kills for SOAK (2h), and look for what grew or is left; needs root, stress-ng
	$(GO) run ./tests/soak -length $(SOAK)

margins: build ## look whether what a budget tells is within its margins: 1,000 simulated runs of each load, 100 real ones; needs root
	PPSCRIPT_RUNS=1000 $(GO) test -count 1 -v ./runtime/session/budget -run TestEstimatesOfJumps
	PPSCRIPT_RUNS=100 $(GO) test -count 1 -v -timeout 2h ./tests/oracle -run 'TestBudgetTellsTheTruth|TestBudgetOfSlots|TestBudgetOfManyKeys'

values: ## compare 100,000 random functions of numbers natively, interpreted and exactly, and 2,000 random programs; needs root
	PPSCRIPT_RUNS=100000 $(GO) test -count 1 -v -timeout 1h ./runtime/script/frontend -run TestNumbersKeepTheirTypes
	$(GO) test -count 1 -v -timeout 1h ./bpf -run 'TestRandomPrograms|TestLinearFunctionsInPrograms' -args -programs 2000

microbench: ## run the benchmarks of all packages once, each for a short time
	$(GO) test -run '^$$' -bench . -benchtime 100ms -benchmem ./...

generate: ## make the generated files anew
	$(GO) generate ./...

docs: ## make a web site of docs/, in site/
	$(GO) run ./docs/site -o site
	@echo "open site/index.html"

PREFIX ?= /usr/local

# The server of hubs is a fifth of the program, and few machines are hubs: it is a program of its own, ppscript-hub.
install: ## install it with manual pages and completions below PREFIX (/usr/local); CAPS=GROUP: this group traces without root; HUB=1: also ppscript-hub
	$(GO) run ./packaging -only tree $(if $(HUB),-hub) -arch "$$($(GO) env GOARCH)" -o "$(or $(DESTDIR),/)" -prefix "$(PREFIX)"
	@test -z "$(CAPS)" || { chgrp "$(CAPS)" "$(DESTDIR)$(PREFIX)/bin/ppscript" && chmod 750 "$(DESTDIR)$(PREFIX)/bin/ppscript" && \
		setcap cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_dac_read_search,cap_ipc_lock+ep "$(DESTDIR)$(PREFIX)/bin/ppscript"; }

dist: ## make packages (.deb, .rpm, .tar.gz, container image) of the last commit, in dist/
	$(GO) run ./packaging -o dist

formats: ## read the formats of tracepoints, which ppscript has for machines without rights, from guests anew
	$(GO) run ./tests/vm/formats

vm: ## run the tests in emulated guests; the first run fetches a Debian kernel
	PPSCRIPT_GUEST=require $(GO) test -count 1 -v ./tests/vm

clean: ## remove what build made
	rm -rf ppscript bin site dist
