# Thin on purpose: cargo does the work. `make run` and `make test` see to it first that PostgreSQL server
# programs are there, and `make test` to what only the tests need; `make check` is what CI runs.

CARGO ?= cargo

.PHONY: run test chaos check format clippy docs postgres test-packages deny picture

run: postgres
	@echo "taskdeck: building (some minutes the first time), then opening the console; q ends it"
	@$(CARGO) build --release
	@$(CARGO) run --release --quiet

test: postgres test-packages
	$(CARGO) test

# The chaos test of `make test`, long, with its report on the screen: `make chaos SECONDS=600 SEED=7`.
SECONDS ?= 600
SEED ?= $(shell date +%s)

chaos: postgres
	TASKDECK_CHAOS_SECONDS=$(SECONDS) TASKDECK_CHAOS_SEED=$(SEED) $(CARGO) test --test chaos nothing_is_lost -- --nocapture

check: format clippy docs test

format:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --document-private-items

postgres:
	@sh scripts/ensure-postgres.sh

test-packages:
	@sh scripts/ensure-test-packages.sh

# Needs `cargo install cargo-deny`; licences, duplicates and sources, without the network.
deny:
	$(CARGO) deny --offline check bans licenses sources

# Draws docs/console.svg from a running console.
picture: postgres
	$(CARGO) build --release
	$(CARGO) run --example picture -- target/release/taskdeck docs/console.svg 120 30
