# Everything that is done with this repository. `make` alone lists it.

CARGO ?= cargo
DEMO := target/demo
TYRION := target/release/tyrion

# Any one of these that is there does for the demo.
DEMO_JDK ?= 17

.DEFAULT_GOAL := help
.PHONY: help build demo test setup check unit miri bench clean

help: ## Lists the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## Builds tyrion and its agent into target/release; needs Rust alone
	$(CARGO) build --release

demo: build ## Records a bank's server, converts to all formats, says where the lock is
	tests/setup/jdks.sh $(DEMO_JDK)
	tests/setup/java-classes.sh
	tests/setup/demo.sh $(DEMO) target/jdks/$(DEMO_JDK)/bin/java

test: setup check build ## Runs every check and every test, after installing what they need
	tests/setup/probe-class.sh --check
	tests/setup/api-jar.sh --check
	$(CARGO) test --release --workspace

setup: ## Gets the Java runtimes and the tools that the tests need
	tests/setup/jdks.sh
	tests/setup/java-classes.sh
	tests/setup/tools.sh

check: ## Checks format, lints and the links of the documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then \
	    shellcheck tests/*/*.sh .ci/run; \
	else echo "no shellcheck: scripts are not checked"; fi

# What Miri can run: not what maps files, nor what calls a JVM.
miri: ## Runs tests of the agent under Miri (nightly with miri and rust-src)
	MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-ignore-leaks" \
	    $(CARGO) +nightly miri test -p tyrion-agent --lib -- \
	    trace::arena trace::cells trace::holds children

bench: build ## Measures what recording and converting cost
	tests/bench/run.sh

clean: ## Removes target/: all that was built, recorded and fetched
	$(CARGO) clean
