#!/usr/bin/env bash
# Brings the jars of Kafka, which the tests of deliveries to it run, from Maven Central into .cache.
set -euo pipefail
cd "$(dirname "$0")"
[ -d .cache/kafka ] && exit
mkdir -p .cache
mvn --batch-mode --quiet --file kafka.pom.xml dependency:copy-dependencies "-DoutputDirectory=$PWD/.cache/kafka.new"
mv .cache/kafka.new .cache/kafka
