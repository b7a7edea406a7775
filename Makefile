# Everything that is done with this repository. `make` alone lists it.

CARGO ?= cargo
DEMO := target/demo
# What tests run and the demo shows: what is handed on takes twice as long to compile.
PROFILE := $(if $(TYRION_TEST_EVERYWHERE),release,light)

# Those that `make test` runs on; all that are known with TYRION_TEST_EVERYWHERE.
JDKS := $(if $(TYRION_TEST_EVERYWHERE),,8 11 17 21 25 27)

# Whose own tests are run, with the agent and without.
OPENJDK_TESTS := 17 26

# Any one of these that is there does for the demo.
DEMO_JDK ?= 17

# Most end-to-end tests wait most of the time, so several run at a time: five with two
# processors. Those that must not be disturbed see to it themselves.
export RUST_TEST_THREADS ?= $(shell expr 5 \* $$(nproc) / 2)
# End-to-end tests that the hand runs while working: some of each kind.
QUICK := command_line outputs reporting structure truth::holders::jdk17 \
    trace::exactness::four_threads::jdk17 report::convoy::convoys::jdk17 \
    sampling::live::log_kept::jdk21 attaching::stop_without_an_agent::jdk17

.DEFAULT_GOAL := help
.PHONY: help build demo test compiled test-quick test-everywhere cases setup check licences advisories miri bench dist dist-again dist-check dist-aarch64 release clean

help: ## Lists the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

build: ## Builds tyrion and its agent into target/release; needs Rust alone
	$(CARGO) build --release
	tests/setup/split-debug.sh target/release

demo: ## Records a bank's server, converts to all formats, says where the lock is
	tests/setup/jdks.sh $(DEMO_JDK) & fetched=$$!; \
	    $(CARGO) build --profile $(PROFILE) && wait $$fetched
	tests/setup/java-classes.sh
	tests/setup/demo.sh $(DEMO) target/jdks/$(DEMO_JDK)/bin/java target/$(PROFILE)/tyrion

# What is fetched waits for the network, and what is compiled for the processors: both
# at once save minutes on a new machine.
test: ## Runs every check and every test, after installing what they need
	$(MAKE) setup & fetched=$$!; $(MAKE) compiled && wait $$fetched
	tests/setup/probe-class.sh --check
	tests/setup/api-jar.sh --check
	$(CARGO) test --profile $(PROFILE) --workspace --no-fail-fast
ifdef TYRION_TEST_EVERYWHERE
	$(CARGO) test --profile $(PROFILE) --workspace --test e2e -- --ignored
	tests/mcp/cases.py target/$(PROFILE)/tyrion
	tests/jdks/openjdk_tests.py $(OPENJDK_TESTS)
	tests/soak/day.sh --no-build
	$(MAKE) dist
	$(MAKE) dist-check
	$(MAKE) dist-aarch64
endif

# All at once: where one crate alone is left to compile, a processor has nothing to do.
compiled:
	$(MAKE) check
	$(CARGO) build --profile $(PROFILE) --workspace --all-targets

test-everywhere: ## As test, and what is slow or was tried on another JDK already
	TYRION_TEST_EVERYWHERE=1 $(MAKE) test

# `[!ce]*` is every integration test but cases and e2e. Always with --workspace: for one
# package alone Cargo chooses other features of some crates, and builds them anew.
test-quick: ## Runs what needs no JVM, and some end-to-end tests on one JDK
	$(CARGO) build --profile $(PROFILE) --workspace --all-targets
	tests/setup/java-classes.sh
	$(CARGO) test --profile $(PROFILE) --workspace --lib --bins --test '[!ce]*'
	$(CARGO) test --profile $(PROFILE) --workspace --test e2e -- $(QUICK)

cases: ## Runs programs whose causes are known, and judges verdicts; NAMES="..." selects
	tests/setup/jdks.sh
	$(CARGO) build --profile $(PROFILE) --workspace
	TYRION_TEST_EVERYWHERE=1 $(CARGO) test --profile $(PROFILE) --workspace --test cases -- $(NAMES)

setup: ## Gets the Java runtimes and the tools that the tests need
	tests/setup/jdks.sh $(JDKS)
	tests/setup/java-classes.sh
	tests/setup/cases.sh --slice
	tests/setup/tools.sh
	tests/setup/wheels.sh
	tests/setup/judges.sh
	tests/setup/java-libraries.sh
ifdef TYRION_TEST_EVERYWHERE
	tests/setup/web.sh
	tests/setup/windows.sh
	tests/setup/agents.sh
	tests/setup/collector.sh
	tests/setup/spark.sh
	tests/setup/firefox.sh
	tests/setup/openjdk-tests.sh $(OPENJDK_TESTS) || [ $$? = 3 ]
endif

check: ## Checks format, lints, documentation, scripts, and dependencies' licences
	$(CARGO) fmt --all --check
	$(CARGO) clippy --profile $(PROFILE) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --profile $(PROFILE) --workspace --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then \
	    shellcheck -x tests/*/*.sh packaging/*.sh web/*.sh .ci/run; \
	else echo "no shellcheck: scripts are not checked"; fi
	@if command -v cargo-deny >/dev/null; then $(MAKE) licences; \
	else echo "no cargo-deny: licences are not checked"; fi

licences: ## Checks licences and sources of dependencies; needs cargo-deny
	$(CARGO) deny check licenses bans sources

# Not in "check": what it says depends on the day, not on the commit.
advisories: ## Asks RustSec for known faults of dependencies; needs cargo-deny
	$(CARGO) deny check advisories

# What Miri can run: not what maps files, nor what calls a JVM.
miri: ## Runs tests of the agent under Miri (nightly with miri and rust-src)
	MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-ignore-leaks" \
	    $(CARGO) +nightly miri test -p tyrion-agent --lib -- \
	    trace::arena trace::cells trace::holds children

bench: build ## Measures what recording and converting cost
	tests/bench/run.sh

dist: ## Builds all packages for x86-64 and aarch64 into dist/; on Debian
	tests/setup/jdks.sh 17
	packaging/dist.sh

dist-again: ## Builds all packages again, in another folder: the bytes must be the same
	packaging/again.sh

dist-check: ## Installs each package of dist/ in an empty place, and uses it; as root
	tests/setup/jdks.sh 17
	tests/setup/java-classes.sh
	packaging/check.sh

dist-aarch64: ## Records JVMs for aarch64 under qemu with what `make dist` has built
	tests/setup/aarch64.sh
	tests/setup/java-classes.sh
	tests/aarch64/run.sh
	packaging/build.sh tests

release: ## With VERSION=x.y.z: prepares a release in dist/, and publishes nothing
	tests/setup/jdks.sh 17
	packaging/release.sh "$(VERSION)"

clean: ## Removes target/ and dist/: all that was built, recorded and fetched
	$(CARGO) clean
	rm -rf dist
