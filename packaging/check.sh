#!/bin/bash
# Tries what is in dist/: each package is installed in an empty place, and from there it
# records, converts and attaches, with a JVM of target/jdks.
#
#   packaging/check.sh [KIND...]
#
# Kinds: binaries tarballs windows debs wheels image web crates maven gradle jmh junit otel spring old_glibc;
# without one, all. As root, and with the JDK that DIST_JDK names (17). Prints a line for each thing that
# was tried.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

java=$root/target/jdks/${DIST_JDK:-17}/bin/java
classes=$root/target/java-classes
empty=$(mktemp -d "${TMPDIR:-/tmp}/tyrion-dist.XXXXXX")
jvm=
collector=
# shellcheck disable=SC2317
cleanup() {
    # It may have ended by itself.
    [ -z "$jvm" ] || end_bank || true
    [ -z "$collector" ] || end_collector || true
    # What is mounted there must not be removed.
    for mounted in "$empty"/*/proc; do
        ! mountpoint -q "$mounted" || umount --lazy "$mounted"
    done
    rm -rf --one-file-system "$empty"
}
trap cleanup EXIT
# Agents in /tmp would be found by nobody else.
chmod 755 "$empty"

ok() { echo "ok  $*"; }

# Nothing of this machine's environment: only commands of the system.
alone() { env -i PATH=/usr/bin:/bin HOME="$empty/home" LC_ALL=C.UTF-8 "$@"; }

# Runs a command with another root folder, with all processes in its /proc.
within() { # root folder, command...
    mkdir -p "$1/proc"
    # shellcheck disable=SC2016
    unshare --mount sh -c 'root=$1 && shift && mount -t proc proc "$root/proc" &&
        exec chroot "$root" "$@"' sh "$@"
}

start_bank() {
    # Not by `alone`: the process must be the JVM.
    env -i "$java" -cp "$classes" com.acme.bank.BankServer --seconds 60 >/dev/null 2>&1 &
    jvm=$!
    # Until it waits for its locks.
    sleep 3
}

end_bank() {
    kill "$jvm"
    wait "$jvm" 2>/dev/null || true
    jvm=
}

# What a log tells: that there are waits, and for which lock.
check_log() { # tyrion, log, what it is of
    local report
    report=$(alone "$1" report "$2")
    grep -q AuditLog <<<"$report" || fail "$3: the report does not name the lock"
}

# Records, converts and attaches.
try_tyrion() { # tyrion, what was installed
    local tyrion=$1 what=$2 work=$empty/work
    rm -rf "$work"
    mkdir -p "$work" "$empty/home"
    [ "$(alone "$tyrion" --version)" = "tyrion $version" ] || fail "$what: not tyrion $version"
    (cd "$work" && alone "$tyrion" record -o a.log -- \
        "$java" -cp "$classes" com.acme.bank.BankServer --seconds 2 >said 2>&1) ||
        fail "$what: record: $(cat "$work/said")"
    check_log "$tyrion" "$work/a.log" "$what: record"
    (cd "$work" && alone "$tyrion" convert --to all -o all a.log >said 2>&1) ||
        fail "$what: convert: $(cat "$work/said")"
    start_bank
    (cd "$work" && alone "$tyrion" attach "$jvm" -o b.log >said 2>&1) ||
        fail "$what: attach: $(cat "$work/said")"
    sleep 2
    alone "$tyrion" stop "$jvm" >/dev/null
    end_bank
    check_log "$tyrion" "$work/b.log" "$what: attach"
    local outputs
    outputs=$(find "$work/all" -type f | wc -l)
    [ "$outputs" -ge 10 ] || fail "$what: only $outputs outputs"
    ok "$what: records, converts to $outputs files, attaches"
}

same_programs() { # folder with bin and lib/tyrion, architecture
    cmp "$1/bin/tyrion" "$stage/$2/bin/tyrion"
    same_agents "$@"
}

same_agents() { # folder with lib/tyrion, architecture
    for libc in glibc musl; do
        cmp "$1/lib/tyrion/$libc/libtyrion_agent.so" \
            "$stage/$2/lib/tyrion/$libc/libtyrion_agent.so"
    done
}

check_binaries() {
    python3 "$root/packaging/check_binaries.py" "$stage"
    local loader=$tools/musl/lib/ld-musl-x86_64.so.1
    # What checks C code needs a newer musl than Debian's.
    ZIG_GLOBAL_CACHE_DIR=$empty/zig "$tools/py/ziglang/zig" cc \
        -target x86_64-linux-musl -fno-sanitize=all -dynamic -o "$empty/load" "$root/packaging/load.c"
    "$loader" "$empty/load" "$stage/x86_64/lib/tyrion/musl/libtyrion_agent.so" ||
        fail "the agent for musl does not load with Debian's musl"
    ok "the agent for musl loads with Debian's musl"
    if "$loader" "$empty/load" "$stage/x86_64/lib/tyrion/glibc/libtyrion_agent.so" \
        >/dev/null 2>&1; then
        fail "the agent for glibc loads with musl: this test tells nothing"
    fi
    (cd "$dist" && sha256sum --quiet -c SHA256SUMS)
    ok "SHA256SUMS"
}

check_tarballs() {
    for arch in $arches; do
        tar -xzf "$dist/tyrion-$version-$arch-linux.tar.gz" -C "$empty"
        same_programs "$empty/tyrion-$version-$arch-linux" "$arch"
    done
    local home=$empty/tyrion-$version-x86_64-linux
    grep -q '^\.TH tyrion' "$home/share/man/man1/tyrion.1" || fail "tarball: no manual page"
    bash -n "$home/share/bash-completion/completions/tyrion"
    try_tyrion "$home/bin/tyrion" "tarball"
    # By a link, as people put programs into their PATH.
    mkdir -p "$empty/linked"
    ln -sf "$home/bin/tyrion" "$empty/linked/tyrion"
    [ "$(alone "$empty/linked/tyrion" agent-path --libc musl)" = \
        "$home/lib/tyrion/musl/libtyrion_agent.so" ] || fail "tarball: not found by a link"
    check_debug "$home"
    # Over a folder that has its own ways.
    local local=$empty/local
    mkdir -p "$local/bin" "$empty/elsewhere"
    chmod 2775 "$local/bin"
    ln -s "$empty/elsewhere" "$local/lib"
    tar -xzf "$dist/tyrion-$version-x86_64-linux.tar.gz" -C "$local" --strip-components 1
    [ "$(stat -c %a "$local/bin")" = 2775 ] || fail "tarball: changes the mode of a folder"
    [ -L "$local/lib" ] || fail "tarball: replaces a link to a folder"
    same_programs "$local" x86_64
}

# Debug information is of this very file: the file names it by its sum.
check_debug() { # what the tarball has
    local debug=$empty/tyrion-$version-x86_64-linux-debug
    tar -xzf "$dist/tyrion-$version-x86_64-linux-debug.tar.gz" -C "$empty"
    local name
    for name in bin/tyrion lib/tyrion/glibc/libtyrion_agent.so lib/tyrion/musl/libtyrion_agent.so; do
        objcopy -O binary --only-section=.gnu_debuglink --set-section-flags \
            .gnu_debuglink=alloc "$1/$name" "$empty/link"
        python3 - "$empty/link" "$debug/$name.debug" <<'END'
import pathlib, struct, sys, zlib
link, debug = (pathlib.Path(name).read_bytes() for name in sys.argv[1:])
if struct.unpack("<I", link[-4:])[0] != zlib.crc32(debug):
    raise SystemExit(f"{sys.argv[2]} is of another file")
END
    done
    addr2line -f -e "$debug/lib/tyrion/glibc/libtyrion_agent.so.debug" \
        "$(nm -D "$1/lib/tyrion/glibc/libtyrion_agent.so" | sed -n 's/ T Agent_OnLoad$//p')" |
        grep -q 'agent/src/' || fail "the debug information names no source"
    ok "debug information fits"
}

# Under Wine, where that is: what it makes of logs is what the command makes.
check_windows() {
    local zip=$dist/tyrion-$version-x86_64-windows.zip home=$empty/tyrion-$version-x86_64-windows
    local input words made=0
    python3 -m zipfile -e "$zip" "$empty"
    cmp "$home/tyrion.exe" "$stage/x86_64-windows/tyrion.exe"
    for input in LICENSE-APACHE LICENSE-MIT NOTICE THIRD-PARTY-LICENSES sbom.cdx.json; do
        [ -s "$home/$input" ] || fail "windows: no $input"
    done
    grep -q mingw-w64 "$home/THIRD-PARTY-LICENSES" || fail "windows: not all licences"
    ok "windows: $(wc -c <"$zip") bytes, unpacked $(wc -c <"$home/tyrion.exe")"
    mkdir -p "$empty/home"
    "$root/tests/setup/windows.sh" wine || { echo "no Wine: tyrion.exe is not run"; return; }
    cp "$root/testdata/logs/v1-small.log" "$root/testdata/jfr/jdk25.jfr.gz" \
        "$root/testdata/inputs/dumps/hotspot-7-deadlock.txt" "$home"
    for input in v1-small.log jdk25.jfr.gz hotspot-7-deadlock.txt; do
        for words in 'report --html' 'convert --to pprof' 'convert --to perfetto'; do
            # Words are meant to be split.
            # shellcheck disable=SC2086
            (cd "$home" && alone "$stage/x86_64/bin/tyrion" $words -o here "$input" 2>here.said &&
                under_wine ./tyrion.exe $words -o there "$input" 2>there.said) ||
                fail "windows: $words $input: $(cat "$home"/*.said)"
            cmp "$home/here" "$home/there"
            made=$((made + 1))
        done
    done
    if (cd "$home" && under_wine ./tyrion.exe attach 1 2>said); then
        fail "windows: attach has done something"
    fi
    grep -q 'needs Linux' "$home/said" || fail "windows: attach: $(cat "$home/said")"
    ok "windows: under Wine it makes the same $made files"
}

under_wine() { # program, words...
    alone WINEPREFIX="$root/target/windows/prefix" WINEDEBUG=-all \
        WINEPATH="Z:${root//\//\\}\\target\\windows" wine "$@"
}

check_debs() {
    local pair
    for pair in x86_64:amd64 aarch64:arm64; do
        local arch=${pair%:*} name=${pair#*:} to=$empty/deb-${pair#*:}
        mkdir -p "$to/var/lib/dpkg/info" "$to/var/lib/dpkg/updates"
        : >"$to/var/lib/dpkg/status"
        dpkg --root="$to" --log=/dev/null --force-architecture \
            -i "$dist/tyrion_${version}_$name.deb" >"$empty/said" 2>&1 ||
            fail "dpkg: $(cat "$empty/said")"
        same_programs "$to/usr" "$arch"
        (cd "$to" && md5sum --quiet -c var/lib/dpkg/info/tyrion.md5sums)
        for file in share/man/man1/tyrion.1.gz share/bash-completion/completions/tyrion \
            share/zsh/vendor-completions/_tyrion share/doc/tyrion/copyright \
            share/fish/vendor_completions.d/tyrion.fish; do
            [ -s "$to/usr/$file" ] || fail "$name: no /usr/$file"
        done
    done
    # Alone in a root, without a C library.
    [ "$(within "$empty/deb-amd64" /usr/bin/tyrion agent-path --libc musl)" = \
        /usr/lib/tyrion/musl/libtyrion_agent.so ] || fail "deb: no agent in its root"
    try_tyrion "$empty/deb-amd64/usr/bin/tyrion" ".deb"
    dpkg --root="$empty/deb-amd64" --log=/dev/null -r tyrion >/dev/null
    [ ! -e "$empty/deb-amd64/usr/bin/tyrion" ] || fail "deb: is not removed"
}

check_wheels() {
    python3 -m venv "$empty/venv"
    alone "$empty/venv/bin/pip" --disable-pip-version-check install --quiet --no-index \
        --no-cache-dir "$dist/tyrion-$version"-py3-none-*x86_64.whl
    same_agents "$empty/venv" x86_64
    try_tyrion "$empty/venv/bin/tyrion" "wheel"
    alone "$empty/venv/bin/pip" uninstall --quiet --yes tyrion
    [ -z "$(find "$empty/venv" -name '*tyrion*' ! -type d)" ] || fail "wheel: something stays"
    alone "$empty/venv/bin/pip" --disable-pip-version-check install --quiet --no-index \
        --no-cache-dir --no-deps --target "$empty/wheel" --platform manylinux2014_aarch64 \
        --only-binary :all: --find-links "$dist" tyrion
    cmp "$empty/wheel/bin/tyrion" "$stage/aarch64/bin/tyrion"
    python3 -m zipfile -e "$dist/tyrion-$version"-py3-none-*aarch64.whl "$empty/unzipped"
    same_agents "$empty/unzipped/tyrion-$version.data/data" aarch64
}

check_image() {
    python3 "$root/packaging/unpack_image.py" "$dist/tyrion-$version-oci.tar" "$empty/image"
    same_programs "$empty/image/arm64" aarch64
    local image=$empty/image/amd64 work=$empty/image/amd64/shared
    # An init container, with a volume.
    mkdir -p "$work"
    [ "$(within "$image" /bin/tyrion agent-path --libc glibc --into /shared)" = \
        /shared/libtyrion_agent.so ] || fail "image: agent-path --into"
    alone "$java" "-agentpath:$work/libtyrion_agent.so=file=$work/a.log" \
        -cp "$classes" com.acme.bank.BankServer --seconds 2 >/dev/null
    within "$image" /bin/tyrion report /shared/a.log | grep -q AuditLog ||
        fail "image: the report does not name the lock"
    within "$image" /bin/tyrion convert --to all -o /shared/all /shared/a.log 2>/dev/null
    # A container for debugging: it sees the JVM, whose files are others.
    start_bank
    within "$image" /bin/tyrion attach "$jvm" -o "$work/b.log" \
        >"$empty/said" 2>&1 ||
        fail "image: attach: $(cat "$empty/said")"
    sleep 2
    end_bank
    within "$image" /bin/tyrion report /shared/b.log | grep -q AuditLog ||
        fail "image: attach has not recorded"
    ok "image: gives the agent to a volume, records, converts, attaches"
}

# Opened from the disk, it makes the reports that the command makes.
check_web() {
    local page=$dist/tyrion-$version.html input
    "$root/tests/setup/tools.sh" browsers
    mkdir -p "$empty/web"
    cp "$root/testdata/logs/v1-small.log" "$root/testdata/jfr/jdk25.jfr.gz" \
        "$root/testdata/inputs/dumps/hotspot-7-deadlock.txt" "$empty/web"
    for input in v1-small.log jdk25.jfr.gz hotspot-7-deadlock.txt; do
        (cd "$empty/web" && alone "$stage/x86_64/bin/tyrion" report --html -o - "$input" \
            >"$empty/commands.html")
        python3 "$root/packaging/check_web.py" "$page" "$empty/web/$input" "$empty/commands.html" \
            >"$empty/said" || fail "web: $input"
        ok "web: $(cat "$empty/said")"
    done
    ok "web: $(wc -c <"$page") bytes, $(gzip -9c "$page" | wc -c) compressed"
}

# Records, converts and attaches with a JVM that is in another root folder, as is Tyrion:
# with its C library.
try_within() { # root folder, tyrion in it, java in it, what it is
    local home=$1 tyrion=$2 java=$3 what=$4
    local bank=("$java" -cp /classes com.acme.bank.BankServer --seconds)
    mkdir -p "$home/tmp" "$home/classes"
    cp -r "$classes/." "$home/classes"
    within "$home" "$tyrion" record -o /tmp/a.log -- "${bank[@]}" 2 >"$empty/said" 2>&1 ||
        fail "$what: record: $(cat "$empty/said")"
    within "$home" "$tyrion" convert --to all -o /tmp/all /tmp/a.log >"$empty/said" 2>&1 ||
        fail "$what: convert: $(cat "$empty/said")"
    # Not by `within`: the process must be the JVM.
    mount -t proc proc "$home/proc"
    chroot "$home" "${bank[@]}" 60 >/dev/null 2>&1 &
    jvm=$!
    sleep 3
    chroot "$home" "$tyrion" attach "$jvm" -o /tmp/b.log >"$empty/said" 2>&1 ||
        fail "$what: attach: $(cat "$empty/said")"
    sleep 2
    chroot "$home" "$tyrion" stop "$jvm" >/dev/null
    end_bank
    umount "$home/proc"
    local log
    for log in a b; do
        within "$home" "$tyrion" report "/tmp/$log.log" | grep -q AuditLog ||
            fail "$what: $log.log: the report does not name the lock"
    done
    ok "$what: records, converts to $(find "$home/tmp/all" -type f | wc -l) files, attaches"
}

check_old_glibc() {
    "$root/tests/setup/old-glibc.sh"
    local home=$empty/old-glibc
    cp -a "$root/target/old-glibc/root" "$home"
    mkdir -p "$home/proc" "$home/opt"
    tar -xzf "$dist/tyrion-$version-x86_64-linux.tar.gz" -C "$home/opt"
    try_within "$home" "/opt/tyrion-$version-x86_64-linux/bin/tyrion" \
        /usr/lib/jvm/java-17-openjdk-amd64/bin/java "Debian 11, glibc 2.31"
}

# As `cargo install tyrion` does it, but that the crates are not in a registry yet.
check_crates() {
    local crates=$empty/crates
    mkdir -p "$crates" "$empty/cargo-home"
    local patches=() crate name
    for crate in "$dist"/crates/*.crate; do
        tar -xzf "$crate" -C "$crates"
        name=$(basename "$crate" "-$version.crate")
        [ "$name" = tyrion ] ||
            patches+=(--config "patch.crates-io.$name.path=\"$crates/$name-$version\"")
    done
    [ "$(cat "$crates"/tyrion*/LICENSE-MIT | sort -u | wc -l)" = \
        "$(sort -u "$root/LICENSE-MIT" | wc -l)" ] || fail "crates: other licences"
    for name in "$crates"/tyrion*; do
        [ -f "$name/LICENSE-APACHE" ] || fail "$name: no licence"
        [ -f "$name/NOTICE" ] || fail "$name: no notice"
    done
    [ -f "$crates/tyrion-$version/THIRD-PARTY-LICENSES" ] || fail "crates: no licences of others"
    step "cargo install"
    (
        export TYRION_DIST_TOOLS=$tools TYRION_DIST_ROOT=$crates CARGO_HOME=$empty/cargo-home
        export RUSTC=$root/packaging/rustc.sh CARGO_TARGET_DIR=$empty/target
        cd "$crates"
        nice "$root/packaging/cargo.sh" install --quiet --root "$empty/installed" \
            --path "$crates/tyrion-$version" "${patches[@]}"
    )
    [ "$(ls "$empty/installed/bin")" = tyrion ] || fail "cargo install: more than tyrion"
    for libc in glibc musl; do
        agent=$(alone "$empty/installed/bin/tyrion" agent-path --libc $libc)
        case $agent in
            "$empty/home/.cache/tyrion/"*) ;;
            *) fail "cargo install: the agent is $agent" ;;
        esac
        cmp "$agent" "$stage/x86_64/lib/tyrion/$libc/libtyrion_agent.so"
    done
    try_tyrion "$empty/installed/bin/tyrion" "cargo install"
}

check_maven() {
    local project=$empty/maven
    cp -r "$root/packaging/maven-check" "$project"
    # The tests of the project run, with the agent, on the way.
    mvn -q -B -f "$project" -Dmaven.repo.local="$empty/m2" "-Dtyrion.version=$version" \
        "-Dtyrion.repository=file://$dist/maven" test dependency:copy-dependencies \
        -DincludeScope=runtime >"$empty/said" 2>&1 || fail "maven: $(cat "$empty/said")"
    local jars="$project/target/dependency"
    [ "$(ls "$jars")" = "tyrion-agent-$version.jar
tyrion-api-$version.jar" ] || fail "maven: a library has dependencies: $(ls "$jars")"
    check_maven_api "$project" "$jars/tyrion-api-$version.jar"
    check_maven_agent "$project" "$jars/tyrion-agent-$version.jar"
    local base name
    for name in api agent; do
        base=$(dirname "$(find "$dist/maven" -name "tyrion-$name-*.pom")")
        unzip -l "$base/tyrion-$name-$version-sources.jar" | grep -q "tyrion/$name/Tyrion.java"
        unzip -l "$base/tyrion-$name-$version-javadoc.jar" | grep -q "tyrion/$name/Tyrion.html"
        unzip -p "$base/tyrion-$name-$version.jar" META-INF/MANIFEST.MF |
            grep -q "Automatic-Module-Name: tyrion.$name"
    done
}

check_maven_api() { # project, jar
    local log=$empty/maven.log tyrion=$stage/x86_64/bin/tyrion
    alone "$tyrion" record --threshold 0 -o "$log" -- "$java" \
        -cp "$1/target/classes:$2" check.Main >/dev/null
    alone "$tyrion" dump "$log" >"$empty/dumped"
    grep -q 'group from maven' "$empty/dumped" || fail "maven: the group is not in the log"
    ok "maven: a project gets the API, compiles, and its group is recorded"
}

# On every JDK that is there: no tyrion is needed to record.
check_maven_agent() { # project, jar
    local tyrion=$stage/x86_64/bin/tyrion arch libc log jdk
    for arch in $arches; do
        for libc in glibc musl; do
            unzip -p "$2" "tyrion/agent/lib/$arch-$libc/libtyrion_agent.so" |
                cmp - "$stage/$arch/lib/tyrion/$libc/libtyrion_agent.so"
        done
    done
    unzip -l "$2" | grep -q META-INF/THIRD-PARTY-LICENSES || fail "maven: no licences of others"
    log=$(echo "$1"/target/tests-*.log)
    alone "$tyrion" dump "$log" >"$empty/dumped"
    grep -q 'group from maven' "$empty/dumped" || fail "maven: the tests are not recorded"
    ok "maven: Surefire's tests are recorded"
    mkdir -p "$empty/agent-tmp"
    for jdk in "$root"/target/jdks/*/bin/java; do
        log=$empty/javaagent.log
        rm -f "$log"
        alone "$jdk" "-javaagent:$2=file=$log,threshold=0" "-Djava.io.tmpdir=$empty/agent-tmp" \
            -cp "$1/target/classes:$1/target/dependency/tyrion-api-$version.jar" check.Main \
            >"$empty/said" 2>&1 || fail "maven: $jdk: $(cat "$empty/said")"
        alone "$tyrion" dump "$log" >"$empty/dumped" || fail "maven: $jdk: $(cat "$empty/said")"
        grep -q 'group from maven' "$empty/dumped" || fail "maven: $jdk: nothing is recorded"
    done
    [ -z "$(ls -A "$empty/agent-tmp")" ] || fail "maven: something stays"
    ok "maven: -javaagent records on Java $(cd "$root/target/jdks" && echo [0-9]*)"
}

check_gradle() {
    local project=$empty/gradle tyrion=$stage/x86_64/bin/tyrion
    mkdir -p "$project"
    cp -r "$root/packaging/maven-check/src" "$root/packaging/gradle-check/build.gradle" "$project"
    "$root/tests/setup/gradle.sh" env -C "$project" "JAVA_HOME=$root/target/jdks/17" gradle \
        --no-daemon --gradle-user-home "$empty/gradle-home" "-PtyrionVersion=$version" \
        "-PtyrionRepository=file://$dist/maven" test >"$empty/said" 2>&1 ||
        fail "gradle: $(cat "$empty/said")"
    alone "$tyrion" dump "$project"/build/tests-*.log >"$empty/dumped"
    grep -q 'group from maven' "$empty/dumped" || fail "gradle: the tests are not recorded"
    ok "gradle: a project gets the API and the agent, and its tests are recorded"
}

# Whoever has the profiler on the class path names it; the answers are known.
check_jmh() {
    local project=$empty/jmh logs=$empty/jmh-logs
    cp -r "$root/packaging/jmh-check" "$project"
    mvn -q -B -f "$project" -Dmaven.repo.local="$empty/m2" "-Dtyrion.version=$version" \
        "-Dtyrion.repository=file://$dist/maven" compile dependency:copy-dependencies \
        >"$empty/said" 2>&1 || fail "jmh: $(cat "$empty/said")"
    local run=("$java" -cp "$project/target/classes:$project/target/dependency/*" org.openjdk.jmh.Main)
    (cd "$empty" && alone "${run[@]}" -rf json -rff "$empty/jmh.json" \
        -prof "tyrion:mode=trace;dir=$logs;tyrion=$stage/x86_64/bin/tyrion") >"$empty/said" 2>&1 ||
        fail "jmh: $(cat "$empty/said")"
    python3 "$root/packaging/jmh-check/judge.py" "$stage/x86_64/bin/tyrion" trace \
        "$empty/jmh.json" "$logs" {alone,book,mixed}:{2,4} || fail "jmh: $(cat "$empty/said")"
    ok "jmh: waits, contended acquisitions, loss and the lock are what they must be"
    # Without a command that reads logs, benchmarks run, and their logs stay.
    (cd "$empty" && alone "${run[@]}" -f 1 -p holdMillis=2 -prof "tyrion:dir=$logs/without" book) \
        >"$empty/said" 2>&1 || fail "jmh: $(cat "$empty/said")"
    grep -q 'no command tyrion to read logs' "$empty/said" || fail "jmh: $(cat "$empty/said")"
    alone "$stage/x86_64/bin/tyrion" report "$logs"/without/*.log | grep -q Ledger.lock ||
        fail "jmh: nothing is recorded"
    ok "jmh: records without the command, too"
}

# By Surefire, with JUnit 5 and 6: the answers are the tests' names.
check_junit() {
    local junit project
    for junit in 5.11.4 6.0.0; do
        project=$empty/junit-$junit
        cp -r "$root/packaging/junit-check" "$project"
        mkdir -p "$project/src/test/java"
        cp -r "$root/testdata/junit/tested" "$project/src/test/java"
        mvn -q -B -f "$project" -Dmaven.repo.local="$empty/m2" "-Dtyrion.version=$version" \
            "-Dtyrion.repository=file://$dist/maven" "-Djunit.version=$junit" \
            "-Dtyrion.command=$stage/x86_64/bin/tyrion" -Dmaven.test.failure.ignore=true test \
            >"$empty/said" 2>&1 || fail "junit $junit: $(cat "$empty/said")"
        python3 "$project/judge.py" "$project/target/surefire-reports" ||
            fail "junit $junit: $(cat "$empty/said")"
        ok "junit $junit: tests fail for what their threads wait for, and only those"
    done
}

check_spring() {
    local boot project
    for boot in 3.5.0 4.0.0; do
        project=$empty/spring-$boot
        cp -r "$root/packaging/spring-check" "$project"
        mvn -q -B -f "$project" -Dmaven.repo.local="$empty/m2" "-Dtyrion.version=$version" \
            "-Dtyrion.repository=file://$dist/maven" "-Dspring.boot=$boot" compile \
            dependency:copy-dependencies >"$empty/said" 2>&1 ||
            fail "spring $boot: $(cat "$empty/said")"
        alone python3 "$project/judge.py" "$java" "$stage/x86_64/bin/tyrion" "$project/target" ||
            fail "spring $boot"
        ok "spring $boot: the endpoint, its switch and the meters say what they must"
    done
}

# A port that nobody has.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Runs the shop with these flags of the JVM, and has judge.py ask it.
with_shop() { # words for judge.py (URL stands for the shop's), --, flags...
    local asked=() port
    while [ "$1" != -- ]; do
        asked+=("$1")
        shift
    done
    shift
    port=$(free_port)
    env -i "$java" -Dotel.traces.exporter=none -Dotel.metrics.exporter=none -Dotel.logs.exporter=none "$@" \
        -cp "$empty/otel/target/classes:$empty/otel/target/dependency/*" check.Shop "--server.port=$port" \
        >"$empty/said" 2>&1 &
    jvm=$!
    python3 "$root/packaging/otel-check/judge.py" "${asked[@]/#URL/http://127.0.0.1:$port}" ||
        fail "otel: $(cat "$empty/said")"
    end_bank
}

# A service of Spring Boot with OpenTelemetry's agent and Tyrion's extension.
check_otel() {
    local project=$empty/otel log=$empty/otel.log plain traced tyrion=$stage/x86_64/bin/tyrion
    "$root/tests/setup/collector.sh"
    cp -r "$root/packaging/otel-check/service" "$project"
    mvn -q -B -f "$project" -Dmaven.repo.local="$empty/m2" "-Dtyrion.version=$version" \
        "-Dtyrion.repository=file://$dist/maven" compile dependency:copy-dependencies \
        >"$empty/said" 2>&1 || fail "otel: $(cat "$empty/said")"
    mv "$project"/target/dependency/{opentelemetry-javaagent,tyrion-otel}-*.jar "$project"
    local otel=("-javaagent:$(echo "$project"/opentelemetry-javaagent-*.jar)")
    local extension
    extension="-Dotel.javaagent.extensions=$(echo "$project"/tyrion-otel-*.jar)"
    local agent="-agentpath:$stage/x86_64/lib/tyrion/glibc/libtyrion_agent.so=file"
    with_shop requests URL -- "$agent=$log" "${otel[@]}" "$extension"
    python3 "$root/packaging/otel-check/judge.py" report "$tyrion" "$log" || fail "otel: the report"
    ok "otel: requests wait for an import, each with its span"
    plain=$(with_shop time URL -- "$agent=$empty/plain.log" "${otel[@]}")
    traced=$(with_shop time URL -- "$agent=$empty/traced.log" "${otel[@]}" "$extension")
    ok "otel: a request takes $plain µs, with the extension $traced µs"
    check_links "$tyrion" "$agent=$empty/linked.log" "${otel[@]}" "$extension"
}

# The Collector gets the spans from OpenTelemetry's agent, and from Tyrion profiles with links to them.
check_links() { # tyrion, flags...
    local tyrion=$1 otlp
    shift
    otlp=http://127.0.0.1:$(free_port)
    cat >"$empty/collector.yaml" <<END
receivers: {otlp: {protocols: {http: {endpoint: "${otlp#http://}"}}}}
exporters: {file/spans: {path: "$empty/spans"}, file/profiles: {path: "$empty/profiles"}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [file/spans]}
    profiles: {receivers: [otlp], exporters: [file/profiles]}
END
    "$root/target/collector/collector" "--config=$empty/collector.yaml" \
        --feature-gates=service.profilesSupport >"$empty/told" 2>&1 &
    collector=$!
    for _ in $(seq 100); do
        ! grep -q 'Everything is ready' "$empty/told" || break
        sleep 0.1
    done
    with_shop linked URL "$empty/asked" "$tyrion" "$empty/linked.log" "$otlp" -- "$@" \
        -Dotel.traces.exporter=otlp -Dotel.exporter.otlp.protocol=http/protobuf "-Dotel.exporter.otlp.endpoint=$otlp"
    # What has come since the one beside the shop was ended.
    "$tyrion" push --once --otlp "$otlp" "$empty/linked.log" || fail "otel: $(cat "$empty/told")"
    end_collector
    python3 "$root/packaging/otel-check/judge.py" links "$empty/asked" "$empty/spans" "$empty/profiles" \
        >"$empty/said" || fail "otel: the links"
    ok "otel: the Collector has $(cat "$empty/said")"
}

end_collector() {
    kill "$collector"
    wait "$collector" 2>/dev/null || true
    collector=
}

[ "$(id -u)" = 0 ] || fail "only root can install into an empty root: run it as root"
for command in chroot dpkg mvn objcopy python3 readelf unshare unzip; do
    command -v "$command" >/dev/null || fail "please install $command"
done
python3 -c 'import ensurepip' 2>/dev/null || fail "please install python3-venv"
[ -x "$java" ] || fail "no $java; run tests/setup/jdks.sh"
[ -d "$classes" ] || fail "no classes; run tests/setup/java-classes.sh"
[ $# -gt 0 ] || set -- binaries tarballs windows debs wheels image web crates maven gradle jmh junit otel spring old_glibc
for kind in "$@"; do
    "check_$kind"
done
