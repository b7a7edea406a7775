#!/bin/sh
# Gets the Java libraries that Tyrion's own are made for, and that their tests run with.
#
#   tests/setup/java-libraries.sh
#
# Leaves target/java-libraries/*.jar; with CI=true, what cannot be had is exit 1.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
libraries=$root/target/java-libraries

get() { # group:artifact:version
    file=$libraries/$(echo "$1" | tr : -).jar
    "$root/tests/setup/maven.sh" "$file" "$1" || {
        echo "java-libraries.sh: $1 cannot be had" >&2
        [ "${CI:-}" != true ] || exit 1
    }
}

mkdir -p "$libraries"
get org.openjdk.jmh:jmh-core:1.37
get org.openjdk.jmh:jmh-generator-annprocess:1.37
get net.sf.jopt-simple:jopt-simple:5.0.4
get org.apache.commons:commons-math3:3.6.1
get junit:junit:4.13.2
get org.hamcrest:hamcrest-core:1.3
get org.junit.jupiter:junit-jupiter-api:5.11.4
get org.junit.platform:junit-platform-commons:1.11.4
get org.opentest4j:opentest4j:1.3.0
get org.apiguardian:apiguardian-api:1.1.2
# JUnit 5 and 6, each whole.
get org.junit.platform:junit-platform-console-standalone:1.11.4
get org.junit.platform:junit-platform-console-standalone:6.0.0
for part in api context sdk sdk-common sdk-trace sdk-extension-autoconfigure-spi; do
    get io.opentelemetry:opentelemetry-$part:1.51.0
done
