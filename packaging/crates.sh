#!/bin/sh
# Packs the crates, for `cargo install tyrion`: that of the command line carries the agents
# for both architectures, since Cargo would install no library.
#
#   packaging/crates.sh
#
# Leaves them in dist/crates, and in target/dist-crates the folder that they were packed
# from, and can be published from.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

from=$root/target/dist-crates
# tyrion, and what it needs of this repository: not the agent, which is built already.
crates='tyrion tyrion-converters tyrion-formats tyrion-harmless tyrion-model tyrion-options tyrion-page tyrion-report tyrion-stacks tyrion-whatif tyrion-wire'

# What is in the repository, and no more.
copy_sources() {
    rm -rf "$from"
    mkdir -p "$from"
    (cd "$root" && git ls-files -z -- Cargo.toml Cargo.lock agent cli converters formats tests \
        README.md LICENSE-APACHE LICENSE-MIT NOTICE | xargs -0 cp --parents -P -t "$from")
    # Each crate has its licence with it.
    find "$from" -name Cargo.toml | while read -r manifest; do
        folder=$(dirname "$manifest")
        [ "$folder" = "$from" ] || cp "$from"/LICENSE-* "$from/NOTICE" "$folder"
    done
}

put_agents() {
    for arch in $arches; do
        mkdir -p "$from/cli/agents/$arch"
        for libc in glibc musl; do
            gzip -9n <"$stage/$arch/lib/tyrion/$libc/libtyrion_agent.so" \
                >"$from/cli/agents/$arch/$libc.gz"
        done
    done
    # Agents are compiled from others' code as well.
    cp "$stage/THIRD-PARTY-LICENSES" "$from/cli"
}

step "crates"
copy_sources
put_agents
# Nothing is compiled: packaging/check.sh does that, from what is packed.
for crate in $crates; do set -- "$@" -p "$crate"; done
(cd "$from" && "${CARGO:-cargo}" package --quiet --no-verify --allow-dirty "$@" \
    --target-dir "$from/target")
rm -rf "$dist/crates"
mkdir -p "$dist/crates"
cp "$from"/target/package/*.crate "$dist/crates"
