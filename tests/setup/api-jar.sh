#!/bin/sh
# Builds the library by which programs speak to the agent. It is in the
# repository, and in tyrion itself, so that building needs no JDK. To be run
# after a change of its sources.
#
#   tests/setup/api-jar.sh            writes agent/java/tyrion-api.jar
#   tests/setup/api-jar.sh --check    compares it with what the sources make
#
# Needs the javac of JDK 17 (tests/setup/jdks.sh 17): others make other bytes.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
jar=$root/agent/java/tyrion-api.jar
bin=$root/target/jdks/17/bin
# Java 8.
major=52

fail() { echo "api-jar.sh: $*" >&2; exit 1; }

[ -x "$bin/javac" ] || fail "no JDK 17 with a compiler; run tests/setup/jdks.sh 17"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$root/agent/java/src"
find . -name '*.java' | LC_ALL=C sort >"$out/sources"
"$bin/javac" --release 8 -g:source,lines -encoding UTF-8 -Xlint:all,-options -Werror \
    -d "$out/classes" @"$out/sources"

# Bytes 6 and 7 of a class file say which Java it needs.
(cd "$out/classes" && find . -name '*.class' | LC_ALL=C sort) >"$out/list"
while read -r class; do
    found=$(od -An -tu1 -j6 -N2 "$out/classes/$class" | awk '{ print $1 * 256 + $2 }')
    [ "$found" = "$major" ] || fail "$class is of version $found, not $major"
done <"$out/list"

# Whoever has the jar may see its licence. Stored, not packed: zlibs differ.
mkdir "$out/classes/META-INF"
cp "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$out/classes/META-INF"
printf '%s\n' META-INF/LICENSE-APACHE META-INF/LICENSE-MIT >>"$out/list"
cat >"$out/manifest" <<'EOF'
Created-By: Tyrion
Automatic-Module-Name: tyrion.api
Implementation-Title: Tyrion's API for programs
EOF
(cd "$out/classes" && "$bin/jar" --create --file "$out/tyrion-api.jar" --no-compress \
    --manifest "$out/manifest" --date=2020-01-01T00:00:00Z @"$out/list")

if [ "${1:-}" = --check ]; then
    cmp -s "$out/tyrion-api.jar" "$jar" ||
        fail "agent/java/tyrion-api.jar is not what its sources make; run tests/setup/api-jar.sh"
    exit 0
fi
cp "$out/tyrion-api.jar" "$jar"
