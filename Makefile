# Parley: everything a developer or an operator does. `make` alone prints the list.
#
# Settings, overridable on the command line (`make build CONFIG=release`):
CONFIG      ?= debug
# Debug products live in .build, release products in .build-release, so that neither evicts the other.
SCRATCH     ?= $(if $(filter release,$(CONFIG)),.build-release,.build)
SWIFT       ?= swift
PYTHON      ?= python3
DESTDIR     ?=
PREFIX      ?= /usr
FILTER      ?=
# Suites of Swift tests by their targets: only they and what they need are built and run.
TARGETS     ?=
comma       := ,
SUITES       = ^($(subst $(comma),|,$(TARGETS)))\.
MINUTES     ?= 10
# What ships: the executables parley-NAME.
SERVICES    ?= $(shell sed -nE 's/^([a-z]+) .*/\1/p' deploy/services)
LOCAL       := .local
VENV        := $(LOCAL)/venv
REQUIREMENTS := Tests/Clients/requirements.txt

RELEASE_FLAGS := -c release --static-swift-stdlib --scratch-path .build-release
BUILD_FLAGS := $(if $(filter release,$(CONFIG)),$(RELEASE_FLAGS),-c debug --scratch-path $(SCRATCH))

export CONFIG SCRATCH SWIFT PREFIX DESTDIR SERVICES
.DEFAULT_GOAL := help
# Every target that `make help` prints is a name for work, not for a file.
.PHONY: release deps-build deps-local $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile)

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nSettings: CONFIG=debug|release  SCRATCH=<build folder>  DESTDIR=<root>  PREFIX=<prefix>  FILTER=<tests>\n'

deps: ## Install the Debian packages that are missing (sudo when not root); says nothing to do when none is
	@deploy/local/dependencies.sh

# What building takes, and what running on this machine takes; the tests take all.
deps-build:
	@deploy/local/dependencies.sh run build

deps-local:
	@deploy/local/dependencies.sh run build local

venv: $(VENV)/.requirements ## Create the Python environment of the outside clients and of buf

$(VENV)/.requirements: $(REQUIREMENTS) | deps
	@deploy/local/venv.sh $(VENV) $(REQUIREMENTS)

build: deps-build ## Build everything (CONFIG=release: the shipped binaries, in .build-release)
	@deploy/local/build.sh $(BUILD_FLAGS)

release:
	@$(MAKE) --no-print-directory build CONFIG=release

services: deps-build ## Build what ships, the services alone, in release
	@for service in $(SERVICES); do deploy/local/build.sh $(RELEASE_FLAGS) --product parley-$$service || exit 1; done

adapters: deps-build ## Build the programs that outside judges run, in release, into .build/adapters
	@Tests/Adapters/build.sh

run: deps-local ## Start everything on this machine, show that it works, and stay up until Ctrl-C
	@deploy/local/run.sh run

demo: deps-local ## The same, then stop; exits 0 when every step passed
	@deploy/local/run.sh demo

test: deps venv ## Unit and integration tests, then the outside clients (FILTER= a name pattern, TARGETS=A,B some Swift suites)
	@PARLEY_TESTS='$(TARGETS)' Tests/run.sh '$(or $(FILTER),$(if $(TARGETS),$(SUITES)))'

property: deps venv ## A million random interleavings of refreshing, 20,000 through three instances; 2,000 random limits (SEED=)
	@PARLEY_PROPERTY_RUNS=1000000 PARLEY_PROPERTY_INSTANCE_RUNS=20000 PARLEY_PROPERTY_LIMIT_RUNS=2000 \
	  $(if $(SEED),PARLEY_PROPERTY_SEED=$(SEED)) Tests/run.sh 'RefreshPropertyTests|InstancePropertyTests|LimitPropertyTests'

bench: deps venv ## Measure against the C floor, gRPC C++, nghttpd and pgbench; writes .local/bench/results.json
	@$(VENV)/bin/python Tests/Benchmarks/bench.py run

bench-check: deps venv ## Compare instructions per unary RPC with Tests/Benchmarks/thresholds.json
	@$(VENV)/bin/python Tests/Benchmarks/bench.py check

soak: deps venv ## Mixed load for MINUTES (10): memory, descriptors and times must stay as they are
	@$(VENV)/bin/python Tests/Benchmarks/soak.py --minutes $(MINUTES)

fuzz: deps ## Fuzz each target SECONDS=60 s long (TARGET= one of them); prints executions and coverage, fails on a finding
	@Tests/Fuzz/run.sh $(or $(SECONDS),60) $(TARGET)

test-asan: deps ## The Swift tests and the programs they start under AddressSanitizer, with leaks
	@Tests/Sanitizers/run.sh address '$(FILTER)'

test-tsan: deps ## The Swift tests and the programs they start under ThreadSanitizer
	@Tests/Sanitizers/run.sh thread '$(FILTER)'

interop: deps venv adapters ## Outside clients and servers, and the public judges, against ours (PART= runs some of them)
	@Tests/Interop/run.sh $(PART)

crash: deps ## Kill the onboarding service at every point of its work, with three seeds (SEED= the first of them)
	@Tests/crash.sh $(SEED)

chaos: deps venv ## Faults under load, with a ledger that says what was lost (SECONDS=, SEED=, ONLY=a fault's name or jobs)
	@deploy/local/build.sh $(BUILD_FLAGS)
	@Tests/Chaos/run.sh $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))
	@$(if $(ONLY),:,$(MAKE) --no-print-directory crash SEED=$(SEED))

testssl: deps ## Judge what a service offers over TLS, by Debian's testssl.sh
	@deploy/local/build.sh $(BUILD_FLAGS) --product demo-service
	@Tests/Judges/testssl.sh $(SCRATCH)/$(CONFIG)/demo-service

lint: venv ## Format, shell syntax, proto style and the laws of the house (no build)
	@Tests/lint.sh

docs: build ## Write the reference of every library into .local/docs; warnings and undocumented declarations are errors
	@Sources/documentation.sh

proto: deps ## Generate the Swift sources from proto/
	@proto/generate.sh

proto-check: deps venv ## Check that the generated sources are those of proto/, and the proto style
	@proto/generate.sh --check
	@$(VENV)/bin/buf lint proto

deploy: ## Install the services with units, configuration and roles on this host or under DESTDIR (SERVICES= some of them)
	@deploy/install.sh

stop: ## Stop whatever `make run` or `make demo` left running (by recorded process id)
	@deploy/local/run.sh stop

clean: stop ## Stop everything and remove build folders and .local
	@deploy/local/clean.sh
